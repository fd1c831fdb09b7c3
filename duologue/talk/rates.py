"""Sound between a WebRTC line (any rate, any channels) and the ticks of a call. Stateful: no clicks at the seams."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import soxr

from duologue.protocol.messages import SAMPLE_RATE_HZ, TICK_SAMPLES

LINE_RATE_HZ = 48_000  # the rate of Opus in WebRTC
LINE_SAMPLES = LINE_RATE_HZ // 50

Samples = npt.NDArray[np.int16]


class TicksFromLine:
    """Interleaved 16-bit sound in, whole ticks of 16 kHz mono out."""

    def __init__(self) -> None:
        self._rate_hz = 0
        self._stream: soxr.ResampleStream | None = None
        self._rest: Samples = np.zeros(0, dtype=np.int16)

    def push(self, samples: Samples, sample_rate_hz: int, num_channels: int) -> list[bytes]:
        """Take a stretch of any length and return the ticks that are complete now.

        Raises:
            ValueError: the samples are not whole frames of the channels.
        """
        if num_channels < 1 or len(samples) % num_channels:
            raise ValueError(f"{len(samples)} samples are not whole frames of {num_channels} channels")
        frames = samples.reshape(-1, num_channels)
        mono = frames[:, 0] if num_channels == 1 else np.rint(frames.mean(axis=1)).astype(np.int16)
        if sample_rate_hz != self._rate_hz:
            self._rate_hz = sample_rate_hz
            self._stream = None
            if sample_rate_hz != SAMPLE_RATE_HZ:
                self._stream = soxr.ResampleStream(sample_rate_hz, SAMPLE_RATE_HZ, 1, dtype="int16")
        converted = mono if self._stream is None else self._stream.resample_chunk(mono)
        self._rest = np.concatenate([self._rest, converted])
        whole = len(self._rest) // TICK_SAMPLES
        ticks = [self._rest[n * TICK_SAMPLES : (n + 1) * TICK_SAMPLES].astype("<i2").tobytes() for n in range(whole)]
        self._rest = self._rest[whole * TICK_SAMPLES :]
        return ticks


class LineFromTicks:
    """One tick of 16 kHz mono in, 20 ms of 48 kHz mono out, 40 ms later: the filter gives its sound in blocks."""

    def __init__(self) -> None:
        self._stream = soxr.ResampleStream(SAMPLE_RATE_HZ, LINE_RATE_HZ, 1, dtype="int16")
        self._rest: Samples = np.zeros(2 * LINE_SAMPLES, dtype=np.int16)

    def push(self, tick: bytes) -> Samples:
        """Return the next 960 samples."""
        converted = self._stream.resample_chunk(np.frombuffer(tick, dtype="<i2").astype(np.int16))
        self._rest = np.concatenate([self._rest, converted])
        frame, self._rest = self._rest[:LINE_SAMPLES], self._rest[LINE_SAMPLES:]
        return frame
