"""The hibari speech synthesizer."""

from __future__ import annotations

from typing import Any

from duologue.config import TtsConfig
from duologue.errors import ConfigError
from duologue.speech.voice import SpokenWord, Voice, Wave

__all__ = ["HibariVoice", "SpokenWord"]

_SEED = 0  # any fixed one: equal text gives equal sound


class HibariVoice(Voice):
    """The hibari engine; equal text is spoken alike to the bit.

    Raises:
        ConfigError: hibari or the voice is missing.
    """

    def __init__(self, config: TtsConfig, rate_hz: int) -> None:
        super().__init__(config, rate_hz)
        try:
            from hibari import Hibari
            from hibari.voices import VOICES, voice_path
        except ImportError as error:
            raise ConfigError("tts.type hibari needs hibari-tts: pip install 'duologue[local]'") from error
        name = config.voice_name
        if name not in VOICES:
            raise ConfigError(f"tts.voice {name!r} is unknown; hibari has: {', '.join(sorted(VOICES))}")
        try:
            voice_path(name)
        except RuntimeError as error:
            raise ConfigError(
                f"tts.voice {name!r}: {error}; the voice 'heart' is in the package and needs no download"
            ) from error
        self._engine: Any = Hibari(voice=name)

    def _wave(self, text: str, pace: float) -> tuple[Wave, int]:
        return self._engine(text, speed=pace, seed=_SEED), self._engine.sample_rate

    def _length(self, word: str) -> int:
        return len("".join(self._engine.phonemize(word)))
