"""Heavy models, loaded once per process, and the services that each session builds on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pipecat.processors.audio.vad_processor import VADProcessor
from pipecat.services.stt_service import STTService
from pipecat.services.tts_service import TTSService

from duologue.bots.brains.service import LastingCalls, ScriptedBrain
from duologue.bots.context import ScenarioState
from duologue.bots.stt import WhisperStt
from duologue.bots.tool_calls import BARRIER_S
from duologue.bots.tts import HibariTts
from duologue.bots.vad import SharedSilero, load_silero
from duologue.config import BotConfig
from duologue.speech.hibari import HibariVoice
from duologue.speech.recognizers import Recognizers
from duologue.speech.whisper import ShortWhisper

_AFTER_BARRIER_S = 5.0


@dataclass(frozen=True, slots=True)
class Models:
    """What the sessions of a process share."""

    silero: Any
    whisper: ShortWhisper
    voice: HibariVoice
    recognizers: Recognizers


def load_models(config: BotConfig) -> Models:
    """Load all models of a bot. Takes about a second.

    Raises:
        ConfigError: a package or a model is missing; the message says how to provide it.
    """
    voice = HibariVoice(config.tts, config.transport.audio_out_sample_rate)
    whisper = ShortWhisper(config.stt)
    return Models(load_silero(), whisper, voice, Recognizers(config.stt, whisper))


def build_vad(config: BotConfig, models: Models) -> VADProcessor:
    """Return a session's voice activity detector."""
    return VADProcessor(vad_analyzer=SharedSilero(models.silero, config.vad), audio_idle_timeout=0)


def build_stt(config: BotConfig, models: Models) -> STTService:
    """Return a session's speech recognizer."""
    return WhisperStt(models.recognizers, config.stt)


def build_tts(config: BotConfig, models: Models) -> TTSService:
    """Return a session's speech synthesizer."""
    return HibariTts(models.voice, config.tts, config.transport.audio_out_sample_rate)


def build_llm(config: BotConfig, state: ScenarioState) -> LastingCalls:
    """Return a session's brain."""
    bound_s = max(config.llm.function_call_timeout_s, BARRIER_S) + _AFTER_BARRIER_S
    if config.llm.type == "openai":
        from duologue.bots.brains.openai import build_openai

        return build_openai(config.llm, state, function_call_timeout_s=bound_s)
    return ScriptedBrain(state.decide, latency_s=config.llm.latency_ms / 1000, function_call_timeout_s=bound_s)
