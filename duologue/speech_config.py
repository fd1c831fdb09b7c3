"""Settings of a bot's ears, voice and turn taking, and of classes that stand in their place."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, field_validator, model_validator

from duologue.records.record import Record

Charge = Annotated[str, Field(pattern=r"^(zero|measured|fixed:\d+)$")]
"""What work costs in media time: ``zero``, ``measured`` (the real time it took) or ``fixed:<ms>``."""

_PLUG = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")


def is_plug(name: str) -> bool:
    """Whether ``name`` has the form ``module:Class``."""
    return _PLUG.fullmatch(name) is not None


def _checked_plug(name: str) -> str:
    if not is_plug(name):
        raise ValueError(f"{name!r} is not of the form module:Class (for example my_stt:MyStt)")
    return name


ModuleClass = Annotated[str, AfterValidator(_checked_plug)]
"""A class as ``module:Class``; modules are found beside the configuration file, in the current folder, or installed."""


class _Speech(Record):
    """A section that ``service`` can hand to another class.

    ``settings`` are the constructor's arguments. ``hold`` stops session time while the service works, for services that
    make a request for each utterance or sentence; ``hold_timeout_s`` is the real time that one may take.
    """

    service: ModuleClass | None = None
    settings: dict[str, Any] = Field(default_factory=dict, repr=False)
    hold: bool = False
    hold_timeout_s: float = Field(default=30.0, gt=0, le=300)

    @model_validator(mode="after")
    def _one_engine(self) -> _Speech:
        given = _changed(self)
        of_services = {"settings", "hold", "hold_timeout_s"}
        if self.service is None and given & of_services:
            raise ValueError(f"{_listed(given & of_services)} goes with a service: module:Class, and only with it")
        others = given - of_services - {"service", "charge"}
        if self.service is not None and others:
            raise ValueError(
                f"{_listed(others)} belongs to the built-in engines; with service, give the class what it needs under "
                "settings"
            )
        return self

    @property
    def is_slow(self) -> bool:
        """Whether one piece of work may take seconds."""
        return self.service is not None

    @property
    def longest_work_s(self) -> float:
        """Real seconds that session time may stand still for one piece of work; 0 when it is always quick."""
        return self.hold_timeout_s if self.is_slow else 0.0


def _changed(section: Record) -> set[str]:
    """Return the keys whose values are not the defaults."""
    fields = type(section).model_fields
    return {
        name for name, field in fields.items() if getattr(section, name) != field.get_default(call_default_factory=True)
    }


def _listed(names: set[str]) -> str:
    return ", ".join(sorted(names))


class VadConfig(Record):
    """Voice activity detection. Times in seconds."""

    type: Literal["silero"] = "silero"
    confidence: float = Field(default=0.7, gt=0, lt=1)
    start_secs: float = Field(default=0.1, ge=0.032, le=2)
    stop_secs: float = Field(default=0.2, ge=0.064, le=5)
    min_volume: float = Field(default=0.4, ge=0, le=1)


class SttConfig(_Speech):
    """Speech to text: Whisper, or another ``service``.

    ``model``: ``bundled`` (English), ``bundled-multilingual``, a folder, or a size or hub name of a CTranslate2 model
    that is on this machine; ``download: true`` fetches one that is not. ``language``: ISO 639-1 code of what is heard;
    ``auto`` leaves it to a multilingual model. ``max_no_speech`` drops a transcript when the model is surer than this
    that nobody spoke.
    """

    type: Literal["whisper"] = "whisper"
    model: str = "bundled"
    download: bool = False
    language: str = Field(default="en", min_length=2)
    device: Literal["cpu", "cuda", "auto"] = "cpu"
    compute_type: str = "int8"
    threads: int = Field(default=1, ge=1)
    beam_size: int = Field(default=1, ge=1, le=10)
    max_no_speech: float = Field(default=0.9, gt=0, le=1)
    charge: Charge = "zero"

    @property
    def is_slow(self) -> bool:
        """Whether one utterance may take seconds: not with the bundled models."""
        return self.service is not None or not self.model.startswith("bundled")

    @property
    def name(self) -> str:
        """The engine and its model, or the class of the service."""
        return self.service or f"{self.type}:{self.model}"


class TurnTakingConfig(Record):
    """When the other side's turn is over.

    ``silence``: ``user_speech_timeout_s`` after it fell silent. ``smart_turn``: when Pipecat's model hears from the
    voice that it is, else after ``longest_pause_s`` of silence. ``service``: a speech-to-speech service says so.
    """

    type: Literal["silence", "smart_turn", "service"] = "silence"
    user_speech_timeout_s: float = Field(default=0.6, ge=0.1, le=10)
    longest_pause_s: float = Field(default=3.0, ge=0.2, le=10)


_VOICES = {"hibari": "heart", "kokoro": "af_heart", "piper": ""}
_PACKAGED_KOKORO_VOICE = "jf_alpha"


class TtsConfig(_Speech):
    """Text to speech: hibari, Kokoro, Piper, or another ``service``.

    ``pitch`` below 1 gives a lower voice at the same pace; ``speed`` above 1 is faster. ``model``: ``bundled`` (from
    packages) or an ONNX file, for Kokoro and Piper. ``voices``: Kokoro's voices, a folder of ``<voice>.bin`` or an
    archive. ``accent``: how Kokoro reads English, an espeak-ng voice.
    """

    type: Literal["hibari", "kokoro", "piper"] = "hibari"
    voice: str = ""
    speed: float = Field(default=1.0, ge=0.5, le=2.0)
    pitch: float = Field(default=1.0, ge=0.6, le=1.5)
    model: str = "bundled"
    voices: str | None = None
    accent: str = Field(default="en-us", pattern=r"^[a-z]{2,3}(-[a-z0-9]+)*$")
    threads: int = Field(default=1, ge=1)
    charge: Charge = "zero"

    @field_validator("voice")
    @classmethod
    def _named(cls, voice: str) -> str:
        if not re.fullmatch(r"[a-z0-9_]*", voice):
            raise ValueError("a voice is a name such as heart")
        return voice

    @model_validator(mode="after")
    def _of_its_engine(self) -> TtsConfig:
        given = _changed(self)
        if self.type == "piper" and "voice" in given:
            raise ValueError("tts.type piper has its voice in the model file; give tts.model")
        if self.type != "kokoro" and (wrong := given & {"voices", "accent"}):
            raise ValueError(f"{_listed(wrong)} belongs to tts.type kokoro")
        if self.type == "hibari" and (wrong := given & {"model", "threads"}):
            raise ValueError(f"{_listed(wrong)} belongs to tts.type kokoro or piper")
        return self

    @property
    def is_slow(self) -> bool:
        """Whether one sentence may take seconds."""
        return self.service is not None or self.type == "kokoro"

    @property
    def voice_name(self) -> str:
        """The configured voice, or the engine's usual one."""
        if self.type == "kokoro" and self.voices is None:
            return self.voice or _PACKAGED_KOKORO_VOICE
        return self.voice or _VOICES[self.type]

    @property
    def name(self) -> str:
        """The engine and its voice, or the class of the service."""
        return self.service or ":".join(filter(None, (self.type, self.voice_name)))


POSITIONS = ("before_stt", "after_stt", "before_llm", "before_tts", "after_tts")
"""Where own processors can stand: ``after_stt`` sees transcripts, ``before_llm`` contexts, ``before_tts`` replies."""

S2S_POSITIONS = ("before_llm", "after_tts")


class ProcessorConfig(Record):
    """An own FrameProcessor and its place; those at one place stand in the order of the file."""

    at: Literal["before_stt", "after_stt", "before_llm", "before_tts", "after_tts"]
    processor: ModuleClass
    settings: dict[str, object] = Field(default_factory=dict, repr=False)
