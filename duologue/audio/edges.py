"""Where speech starts and stops in a track, from its energy alone.

The level is measured in frames of 10 ms. A frame is active above a threshold that lies 12 dB over the
track's own noise floor (its 10th percentile), but never below -50 dBFS (so that digital silence does not
make a whisper of dither count) and never above -32 dBFS (so that loud noise cannot hide normal speech
altogether). Pauses shorter than 200 ms do not split a segment, and bursts shorter than 60 ms are none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from duologue.audio.pcm import FULL_SCALE, Samples

_SILENCE_DBFS = -120.0  # stands for the level of digital silence, whose logarithm has none; 16 bit ends at -96


@dataclass(frozen=True, slots=True)
class EdgeSettings:
    """Thresholds of :func:`speech_segments`."""

    frame_ms: int = 10
    above_floor_db: float = 12.0
    floor_percentile: float = 10.0
    lowest_threshold_dbfs: float = -50.0
    highest_threshold_dbfs: float = -32.0
    min_pause_ms: int = 200
    min_speech_ms: int = 60


@dataclass(frozen=True, slots=True)
class SpeechSegment:
    """A stretch of speech on the time axis of the track; the end is exclusive."""

    start_ms: int
    end_ms: int

    @property
    def duration_ms(self) -> int:
        """Length in milliseconds."""
        return self.end_ms - self.start_ms


_DEFAULT = EdgeSettings()


def frame_levels(track: Samples, sample_rate_hz: int, frame_ms: int = 10) -> npt.NDArray[np.float64]:
    """Return the RMS level of each whole frame in dBFS; -120 for digital silence."""
    size = sample_rate_hz * frame_ms // 1000
    count = len(track) // size
    frames = track[: count * size].reshape(count, size).astype(np.float64) / FULL_SCALE
    power = np.mean(np.square(frames), axis=1)
    with np.errstate(divide="ignore"):
        levels: npt.NDArray[np.float64] = np.maximum(10.0 * np.log10(power), _SILENCE_DBFS)
    return levels


def activity_threshold(levels: npt.NDArray[np.float64], settings: EdgeSettings = _DEFAULT) -> float:
    """Return the level in dBFS above which a frame is active."""
    if not len(levels):
        return settings.lowest_threshold_dbfs
    floor = float(np.percentile(levels, settings.floor_percentile))
    wanted = floor + settings.above_floor_db
    return min(max(wanted, settings.lowest_threshold_dbfs), settings.highest_threshold_dbfs)


def speech_segments(
    track: Samples, sample_rate_hz: int, settings: EdgeSettings = _DEFAULT
) -> tuple[SpeechSegment, ...]:
    """Return the stretches of speech in ``track``, in order, not overlapping."""
    levels = frame_levels(track, sample_rate_hz, settings.frame_ms)
    active = levels > activity_threshold(levels, settings)
    flanks = np.flatnonzero(np.diff(np.concatenate(([False], active, [False])).astype(np.int8)))
    runs = [(int(start), int(end)) for start, end in flanks.reshape(-1, 2) * settings.frame_ms]
    merged: list[tuple[int, int]] = []
    for start, end in runs:
        if merged and start - merged[-1][1] < settings.min_pause_ms:
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
    return tuple(SpeechSegment(start, end) for start, end in merged if end - start >= settings.min_speech_ms)
