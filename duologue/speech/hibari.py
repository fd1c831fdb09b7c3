"""The hibari speech synthesizer: trimmed, cached, and with its words in time with the audio."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import soxr
from numpy.typing import NDArray

from duologue.config import TtsConfig
from duologue.errors import ConfigError

_FRAME_MS = 20
_SEED = 0
_LEAD_S = 0.02
_TAIL_S = 0.12
_SILENCE = 0.003
_PAUSES = {",": 4.0, ";": 5.0, ":": 5.0, ".": 6.0, "?": 6.0, "!": 6.0}
"""How long a pause after a word is, in letters, by the word's last character."""


@dataclass(frozen=True, slots=True)
class SpokenWord:
    """A word with its spacing, and the s16 audio that ends where the word ends."""

    text: str
    audio: bytes


class HibariVoice:
    """The hibari engine at one pace and pitch. Shared by all sessions; remembers what it has said.

    Raises:
        ConfigError: hibari or the voice is missing.
    """

    def __init__(self, config: TtsConfig, rate_hz: int) -> None:
        try:
            from hibari import Hibari
            from hibari.voices import VOICES, voice_path
        except ImportError as error:
            raise ConfigError("tts.type hibari needs hibari-tts: pip install 'duologue[local]'") from error
        if config.voice not in VOICES:
            raise ConfigError(f"tts.voice {config.voice!r} is unknown; hibari has: {', '.join(sorted(VOICES))}")
        try:
            voice_path(config.voice)
        except RuntimeError as error:
            raise ConfigError(
                f"tts.voice {config.voice!r}: {error}; the voice 'heart' is in the package and needs no download"
            ) from error
        self._engine: Any = Hibari(voice=config.voice)
        self._config = config
        self._rate_hz = rate_hz
        self._spoken: dict[str, tuple[SpokenWord, ...]] = {}

    def speak(self, text: str) -> tuple[SpokenWord, ...]:
        """Return the words of ``text`` with their audio at the voice's output rate; empty when unspeakable."""
        if text not in self._spoken:
            self._spoken[text] = self._synthesize(text)
        return self._spoken[text]

    def _synthesize(self, text: str) -> tuple[SpokenWord, ...]:
        if not any(letter.isalnum() for letter in text):
            return ()
        pitch = self._config.pitch
        wave = self._engine(text, speed=self._config.speed / pitch, seed=_SEED)
        if not len(wave):
            return ()
        played_hz = self._engine.sample_rate * pitch
        wave = soxr.resample(wave, played_hz, self._rate_hz, quality="HQ")
        samples = _whole_frames(_trimmed(wave, self._rate_hz), self._frame)
        words = text.split()
        cuts = self._word_ends(words, len(samples) // self._frame)
        pieces = np.split(samples, [end * self._frame for end in cuts[:-1]])
        return tuple(SpokenWord(word + " ", piece.tobytes()) for word, piece in zip(words, pieces, strict=True))

    @property
    def _frame(self) -> int:
        return self._rate_hz * _FRAME_MS // 1000

    def _word_ends(self, words: list[str], frames: int) -> list[int]:
        """Return where each word has certainly ended, in frames: spread by the length of its phonemes."""
        weights = [len("".join(self._engine.phonemize(word))) + 1 + _PAUSES.get(word[-1], 0.0) for word in words]
        weights[-1] -= _PAUSES.get(words[-1][-1], 0.0)
        ends = np.cumsum(weights) / sum(weights) * frames
        return [min(frames, int(np.ceil(end))) for end in ends[:-1]] + [frames]


def _trimmed(wave: NDArray[np.float32], rate_hz: int) -> NDArray[np.float32]:
    loud = np.flatnonzero(np.abs(wave) > _SILENCE)
    if not len(loud):
        return wave
    start = max(0, loud[0] - int(_LEAD_S * rate_hz))
    return wave[start : loud[-1] + int(_TAIL_S * rate_hz)]


def _whole_frames(wave: NDArray[np.float32], frame: int) -> NDArray[np.int16]:
    padded = np.pad(wave, (0, -len(wave) % frame))
    return (np.clip(padded, -1.0, 1.0) * 32767.0).astype("<i2")
