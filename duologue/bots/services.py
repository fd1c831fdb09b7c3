"""Heavy models, loaded once per process, and the services that each session builds on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pipecat.processors.audio.vad_processor import VADProcessor
from pipecat.processors.frame_processor import FrameProcessor
from pipecat.services.llm_service import LLMService
from pipecat.services.stt_service import STTService
from pipecat.services.tts_service import TTSService

from duologue.bots.brains.own import own_brain
from duologue.bots.brains.service import LastingCalls, ScriptedBrain
from duologue.bots.context import ScenarioState
from duologue.bots.holding import keep_time
from duologue.bots.plugs import make_plug
from duologue.bots.processors import build_processors
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

    silero: object
    whisper: ShortWhisper | None = None
    voice: Voice | None = None
    recognizers: Recognizers | None = None
    smart_turn: object | None = None

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


@dataclass(frozen=True, slots=True)
class Services:
    """What one session's pipeline is made of.

    ``vad`` is None where a service detects turns; ``stt`` and ``tts`` are None where one service does all. ``own`` are
    the configured processors by place.
    """

    vad: VADProcessor | None
    stt: STTService | None
    llm: LastingCalls
    tts: TTSService | None
    own: Mapping[str, list[FrameProcessor]]


def build_services(config: BotConfig, models: Models, state: ScenarioState) -> Services:
    """Return a session's services, built from the sections of its settings.

    Raises:
        ConfigError: a section names a class that does not fit, or that refuses its settings.
    """
    is_cascade = config.pipeline == "cascade"
    has_vad = config.turn_taking.type != "service"
    return Services(
        vad=VADProcessor(vad_analyzer=SharedSilero(models.silero, config.vad), audio_idle_timeout=0)
        if has_vad
        else None,
        stt=build_stt(config, models) if is_cascade else None,
        llm=build_llm(config, state),
        tts=build_tts(config, models) if is_cascade else None,
        own=build_processors(config),
    )


def build_stt(config: BotConfig, models: Models) -> STTService:
    """Return a session's speech recognizer.

    Raises:
        ConfigError: ``stt.service`` does not fit.
    """
    if models.recognizers is not None:
        needs_audio_after = config.turn_taking.type == "smart_turn"
        return WhisperStt(models.recognizers, config.stt, audio_passthrough=needs_audio_after)
    service = make_plug(config, "stt", STTService)
    keep_time(service, "run_stt", config.stt)
    return service


def build_tts(config: BotConfig, models: Models) -> TTSService:
    """Return a session's speech synthesizer.

    Raises:
        ConfigError: ``tts.service`` does not fit.
    """
    if models.voice is not None:
        return VoiceTts(models.voice, config.tts, config.transport.audio_out_sample_rate)
    service = make_plug(config, "tts", TTSService)
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
        own = own_brain(config)
        if own.is_service:
            service: LastingCalls = own.plug.build(own.cls, by=_lasting(own.cls), function_call_timeout_secs=bound_s)
            return service
        own.make()  # What does not fit is refused before anybody connects.
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
