"""Sound between two bots: any rate and channel count in, exactly one tick of 16 kHz mono out.

A bot that already speaks 16 kHz passes through untouched and undelayed. For any other rate the path
resamples a window of three ticks (the one before, the one wanted, the one after) and keeps the middle,
so the filter always sees the neighbours, no state can drift, and the delay is exactly one tick.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import soxr

Samples = npt.NDArray[np.int16]
Floats = npt.NDArray[np.float32]

FULL_SCALE = 32768.0  # the largest magnitude of a 16 bit sample


def samples_of(pcm: bytes) -> Samples:
    """Return little-endian 16-bit PCM as an array (not a copy)."""
    return np.frombuffer(pcm, dtype="<i2")


def mono_floats(pcm: bytes, num_channels: int) -> Floats:
    """Return PCM as mono floats in -1…1; channels are averaged."""
    frames = samples_of(pcm).astype(np.float32) / FULL_SCALE
    if num_channels == 1:
        return frames
    mono: Floats = frames.reshape(-1, num_channels).mean(axis=1, dtype=np.float32)
    return mono


def pcm_of(floats: Floats | npt.NDArray[np.float64]) -> bytes:
    """Return floats in -1…1 as 16-bit PCM, rounded and clipped."""
    pcm: bytes = np.clip(np.rint(floats * FULL_SCALE), -32768, 32767).astype("<i2").tobytes()
    return pcm


def level_dbfs(pcm: bytes) -> float:
    """Return the RMS level in dB below full scale; -120 for digital silence."""
    if not pcm:
        return -120.0
    power = float(np.mean(np.square(samples_of(pcm).astype(np.float64) / FULL_SCALE)))
    return max(-120.0, 10.0 * float(np.log10(power))) if power > 0 else -120.0


class StreamResampler:
    """Chunks of any length, rate and channel count in, mono at one rate out; the filter runs on between chunks.

    Args:
        rate_hz: rate of what comes out.
    """

    def __init__(self, rate_hz: int = 16_000) -> None:
        self.rate_hz = rate_hz
        self._rate_in = rate_hz
        self._filter: soxr.ResampleStream | None = None

    def push(self, pcm: bytes, sample_rate_hz: int, num_channels: int = 1) -> bytes:
        """Take a chunk and return what is ready; a filter holds back a few milliseconds until :meth:`flush`."""
        ready = self.flush() if sample_rate_hz != self._rate_in else b""
        self._rate_in = sample_rate_hz
        if sample_rate_hz == self.rate_hz:
            return ready + (pcm if num_channels == 1 else pcm_of(mono_floats(pcm, num_channels)))
        if self._filter is None:
            self._filter = soxr.ResampleStream(sample_rate_hz, self.rate_hz, 1, dtype="float32")
        return ready + pcm_of(self._filter.resample_chunk(mono_floats(pcm, num_channels)))

    def flush(self) -> bytes:
        """Return what the filter still holds; the next chunk begins anew."""
        held, self._filter = self._filter, None
        return b"" if held is None else pcm_of(held.resample_chunk(np.zeros(0, dtype=np.float32), last=True))


class TickResampler:
    """One direction of the call.

    Args:
        rate_hz: rate of the ticks that come out.
        tick_ms: length of a tick.
    """

    def __init__(self, rate_hz: int = 16_000, tick_ms: int = 20) -> None:
        self.rate_hz = rate_hz
        self.tick_ms = tick_ms
        self.silence = bytes(2 * rate_hz * tick_ms // 1000)
        self._rate_in = rate_hz
        self._before: Floats | None = None
        self._wanted: Floats | None = None

    @property
    def is_delayed(self) -> bool:
        """Whether one tick is held back, because the bot has used another rate."""
        return self._wanted is not None

    def push(self, pcm: bytes, sample_rate_hz: int, num_channels: int = 1) -> bytes:
        """Take one tick as the bot sent it and return one tick of mono PCM.

        Raises:
            ValueError: the frame is not one tick long, or its rate has no whole number of samples a tick.
        """
        self._check(pcm, sample_rate_hz, num_channels)
        if self._wanted is None and sample_rate_hz == self.rate_hz:
            return pcm if num_channels == 1 else pcm_of(mono_floats(pcm, num_channels))
        following = mono_floats(pcm, num_channels)
        if self._wanted is None or self._before is None:
            result = self.silence
            self._before = np.zeros_like(following)
        elif sample_rate_hz == self._rate_in:
            result = self._middle(self._before, self._wanted, following)
            self._before = self._wanted
        else:
            result = self._middle(self._before, self._wanted, np.zeros_like(self._wanted))
            self._before = np.zeros_like(following)
        self._wanted, self._rate_in = following, sample_rate_hz
        return result

    def _middle(self, before: Floats, wanted: Floats, following: Floats) -> bytes:
        if self._rate_in == self.rate_hz:
            return pcm_of(wanted)
        window = np.concatenate([before, wanted, following])
        tick = self.rate_hz * self.tick_ms // 1000
        converted: Floats = soxr.resample(window, self._rate_in, self.rate_hz)
        return pcm_of(converted[tick : 2 * tick])

    def _check(self, pcm: bytes, sample_rate_hz: int, num_channels: int) -> None:
        expected, rest = divmod(sample_rate_hz * self.tick_ms, 1000)
        if rest:
            raise ValueError(f"{sample_rate_hz} Hz has no whole number of samples in {self.tick_ms} ms")
        found = len(pcm) // (2 * num_channels)
        if found != expected:
            raise ValueError(
                f"an audio frame of {found} samples at {sample_rate_hz} Hz; {self.tick_ms} ms are {expected} samples"
            )
