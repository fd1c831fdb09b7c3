"""From ``tts.type`` to a voice."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from duologue.config import TtsConfig
from duologue.errors import ConfigError
from duologue.speech.hibari import HibariVoice
from duologue.speech.kokoro import KokoroVoice
from duologue.speech.piper import PiperVoice
from duologue.speech.voice import Voice

_VOICES: dict[str, tuple[type[Voice], str]] = {
    "hibari": (HibariVoice, "hibari-tts"),
    "kokoro": (KokoroVoice, "kokoro-onnx"),
    "piper": (PiperVoice, "piper-tts"),
}


def build_voice(config: TtsConfig, rate_hz: int) -> Voice:
    """Return the voice of the ``tts`` section, giving audio at ``rate_hz``.

    Raises:
        ConfigError: a package or a model is missing, or the section names a service, which is no local voice.
    """
    if config.service is not None:
        raise ConfigError(f"tts.service {config.service} is not a local voice; use tts.type hibari, kokoro or piper")
    return _VOICES[config.type][0](config, rate_hz)


def engine_version(config: TtsConfig) -> str:
    """Return the engine of the ``tts`` section and its version, which decide what a text sounds like.

    Raises:
        ConfigError: the engine is not installed.
    """
    package = _VOICES[config.type][1]
    try:
        return f"{config.type} {version(package)}"
    except PackageNotFoundError as error:
        raise ConfigError(f"tts.type {config.type} needs {package}, which is not installed") from error
