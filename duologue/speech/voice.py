"""What every local synthesizer does: trimmed and cached sentences whose words are in time with the audio."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import soxr
from numpy.typing import NDArray

from duologue.config import TtsConfig

Wave = NDArray[np.float32]

_FRAME_MS = 20  # one tick of the line
_LEAD_S = 0.02  # soft onsets such as h and f lie below the threshold
_TAIL_S = 0.12  # endings fade below the threshold; cut off, recognizers miss the last consonant
_SILENCE = 0.003  # of full scale, -50 dBFS: below any phoneme, above what synthesizers leave as noise
_PAUSES = {",": 4.0, ";": 5.0, ":": 5.0, ".": 6.0, "?": 6.0, "!": 6.0}
"""How long a pause after a word is, in letters, by the word's last character."""


@dataclass(frozen=True, slots=True)
class SpokenWord:
    """A word with its spacing, and the s16 audio that ends where the word ends."""

    text: str
    audio: bytes


class Voice(ABC):
    """A synthesizer at one pace and pitch. Shared by all sessions; remembers what it has said.

    Args:
        config: the ``tts`` section.
        rate_hz: sample rate of the audio it gives, in Hz.
    """

    def __init__(self, config: TtsConfig, rate_hz: int) -> None:
        self._config = config
        self._rate_hz = rate_hz
        self._spoken: dict[str, tuple[SpokenWord, ...]] = {}

    @abstractmethod
    def _wave(self, text: str, pace: float) -> tuple[Wave, int]:
        """Return ``text`` spoken at ``pace`` (1 is usual), samples in -1…1, and its rate in Hz."""

    @abstractmethod
    def _length(self, word: str) -> int:
        """Return how long a word is, in phonemes."""

    def speak(self, text: str) -> tuple[SpokenWord, ...]:
        """Return the words of ``text`` with their audio at the voice's output rate; empty when unspeakable."""
        if text not in self._spoken:
            self._spoken[text] = self._synthesize(text)
        return self._spoken[text]

    def _synthesize(self, text: str) -> tuple[SpokenWord, ...]:
        if not any(letter.isalnum() for letter in text):
            return ()
        pitch = self._config.pitch
        wave, made_hz = self._wave(text, self._config.speed / pitch)
        if not len(wave):
            return ()
        wave = soxr.resample(wave, made_hz * pitch, self._rate_hz, quality="HQ")
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
        weights = [self._length(word) + 1 + _PAUSES.get(word[-1], 0.0) for word in words]
        weights[-1] -= _PAUSES.get(words[-1][-1], 0.0)
        ends = np.cumsum(weights) / sum(weights) * frames
        return [min(frames, int(np.ceil(end))) for end in ends[:-1]] + [frames]


def _trimmed(wave: Wave, rate_hz: int) -> Wave:
    loud = np.flatnonzero(np.abs(wave) > _SILENCE)
    if not len(loud):
        return wave
    start = max(0, loud[0] - int(_LEAD_S * rate_hz))
    return wave[start : loud[-1] + int(_TAIL_S * rate_hz)]


def _whole_frames(wave: Wave, frame: int) -> NDArray[np.int16]:
    padded = np.pad(wave, (0, -len(wave) % frame))
    return (np.clip(padded, -1.0, 1.0) * 32767.0).astype("<i2")
