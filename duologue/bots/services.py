"""Heavy models, loaded once per process, and the services that each session builds on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pipecat.processors.audio.vad_processor import VADProcessor
from pipecat.services.llm_service import LLMService
from pipecat.services.stt_service import STTService
from pipecat.services.tts_service import TTSService

from duologue.bots.brains.own import brain_class, own_brain
from duologue.bots.brains.service import LastingCalls, ScriptedBrain
from duologue.bots.context import ScenarioState
from duologue.bots.holding import keep_time
from duologue.bots.plugs import plug_in
from duologue.bots.stt import WhisperStt
from duologue.bots.tool_calls import BARRIER_S
from duologue.bots.tts import VoiceTts
from duologue.bots.turn_taking import load_smart_turn
from duologue.bots.vad import SharedSilero, load_silero
from duologue.config import BotConfig
from duologue.speech.recognizers import Recognizers
from duologue.speech.voice import Voice
from duologue.speech.voices import build_voice
from duologue.speech.whisper import ShortWhisper

_AFTER_BARRIER_S = 5.0  # Pipecat's bound for a tool must not pass before ours has told the model why


@dataclass(frozen=True, slots=True)
class Models:
    """What the sessions of a process share; None for what the settings leave to a service."""

    silero: Any
    whisper: ShortWhisper | None = None
    voice: Voice | None = None
    recognizers: Recognizers | None = None
    smart_turn: Any | None = None

    def warm_up(self) -> None:
        """Do once what is slow the first time."""
        if self.voice is not None:
            self.voice.speak("Hello.")


def load_models(config: BotConfig) -> Models:
    """Load all models of a bot. Takes about a second.

    Raises:
        ConfigError: a package or a model is missing; the message says how to provide it.
    """
    is_cascade = config.pipeline == "cascade"
    has_voice = is_cascade and config.tts.service is None
    voice = build_voice(config.tts, config.transport.audio_out_sample_rate) if has_voice else None
    whisper = ShortWhisper(config.stt) if is_cascade and config.stt.service is None else None
    recognizers = Recognizers(config.stt, whisper) if whisper is not None else None
    smart_turn = load_smart_turn() if config.turn_taking.type == "smart_turn" else None
    return Models(load_silero(), whisper, voice, recognizers, smart_turn)


def build_vad(config: BotConfig, models: Models) -> VADProcessor:
    """Return a session's voice activity detector."""
    return VADProcessor(vad_analyzer=SharedSilero(models.silero, config.vad), audio_idle_timeout=0)


def build_stt(config: BotConfig, models: Models) -> STTService:
    """Return a session's speech recognizer.

    Raises:
        ConfigError: ``stt.service`` does not fit.
    """
    if models.recognizers is not None:
        needs_audio_after = config.turn_taking.type == "smart_turn"
        return WhisperStt(models.recognizers, config.stt, audio_passthrough=needs_audio_after)
    plug = plug_in(config, "stt")
    service = plug.build(plug.load(STTService))
    keep_time(service, "run_stt", config.stt)
    return service


def build_tts(config: BotConfig, models: Models) -> TTSService:
    """Return a session's speech synthesizer.

    Raises:
        ConfigError: ``tts.service`` does not fit.
    """
    if models.voice is not None:
        return VoiceTts(models.voice, config.tts, config.transport.audio_out_sample_rate)
    plug = plug_in(config, "tts")
    service = plug.build(plug.load(TTSService))
    keep_time(service, "run_tts", config.tts)
    return service


def build_llm(config: BotConfig, state: ScenarioState) -> LastingCalls:
    """Return a session's brain.

    Raises:
        ConfigError: ``llm.service`` or an own ``llm.type`` does not fit.
    """
    bound_s = max(config.llm.function_call_timeout_s, BARRIER_S) + _AFTER_BARRIER_S
    if config.llm.type == "openai_realtime":
        from duologue.bots.s2s import build_openai_realtime

        return build_openai_realtime(config, function_call_timeout_s=bound_s)
    if config.llm.plug is not None:
        cls = brain_class(config)
        if issubclass(cls, LLMService):
            service: LastingCalls = plug_in(config, "llm").build(
                cls, by=_lasting(cls), function_call_timeout_secs=bound_s
            )
            return service
        own_brain(config, None)  # refuses what does not fit before anybody connects
    elif config.llm.type == "openai":
        from duologue.bots.brains.openai import build_openai

        return build_openai(config.llm, state, function_call_timeout_s=bound_s)
    return ScriptedBrain(state.decide, latency_s=config.llm.latency_ms / 1000, function_call_timeout_s=bound_s)


def _lasting(cls: type[LLMService]) -> type[LastingCalls]:
    """Return ``cls`` with tool calls that outlast a barge-in."""
    if issubclass(cls, LastingCalls):
        return cls
    made: type[LastingCalls] = type(f"Lasting{cls.__name__}", (LastingCalls, cls), {"__doc__": cls.__doc__})
    return made
