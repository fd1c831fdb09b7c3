"""Audio files in memory to samples; the content decides the format, never a name."""

from __future__ import annotations

import io

import numpy as np
import soundfile
import soxr

from duologue.audio.pcm import Floats


def decode_audio(data: bytes, rate_hz: int) -> Floats:
    """Return an audio file (WAV, MP3, FLAC, OGG…) as mono floats in -1…1 at ``rate_hz``; channels are averaged.

    Raises:
        ValueError: the bytes are empty, or not an audio file that can be read.
    """
    if not data:
        raise ValueError("no audio: the file is empty")
    try:
        samples, found_hz = soundfile.read(io.BytesIO(data), dtype="float32", always_2d=True)
    except soundfile.LibsndfileError as error:
        raise ValueError(f"not an audio file that can be read ({error.error_string})") from error
    mono: Floats = samples.mean(axis=1, dtype=np.float32)
    if found_hz == rate_hz or not len(mono):
        return mono
    resampled: Floats = soxr.resample(mono, found_hz, rate_hz)
    return resampled


def duration_ms(data: bytes) -> int:
    """Return the length of an audio file in milliseconds, read from its header; 0 when it cannot be read."""
    try:
        seconds: float = soundfile.info(io.BytesIO(data)).duration
    except soundfile.LibsndfileError:
        return 0
    return round(seconds * 1000)
