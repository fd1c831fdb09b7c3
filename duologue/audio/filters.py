"""Filters over streams of samples: a band as steep as a telephone's, and the colour of pink noise. Pure.

A filter is linear, so a block of samples and the state before it determine the block after it and the state after it
by one matrix. The matrix is made once, by running the recursion on unit vectors; a frame then takes a few products of
it instead of a loop over samples.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Wave = npt.NDArray[np.float64]
Recursion = Callable[[Wave, Wave], Wave]
"""Takes one sample and the state, which it changes, of many signals at once, and returns the sample that comes out."""

_BLOCK = 80
"""Samples of one product: 5 ms at 16 kHz. So small that no library of linear algebra spreads it over threads, whose
number would decide the last bit of a sum."""

_BUTTERWORTH_Q = (0.54119610, 1.30656296)
"""The two sections of a Butterworth filter of the fourth order: 1 / (2 cos(π/8)) and 1 / (2 cos(3π/8))."""


class LinearFilter:
    """A filter that runs on from call to call.

    Args:
        step: what it does with one sample.
        n_state: how many numbers it remembers.
    """

    def __init__(self, step: Recursion, n_state: int) -> None:
        signals = np.eye(_BLOCK, _BLOCK + n_state)
        state = np.eye(n_state, _BLOCK + n_state, k=_BLOCK)
        out = [step(signals[number], state) for number in range(_BLOCK)]
        self._matrix = np.vstack([*out, state])
        self._state = np.zeros(n_state)

    def filter(self, wave: Wave) -> Wave:
        """Return the next stretch, as long as ``wave``, whose length is a multiple of 80 samples."""
        result = np.empty_like(wave)
        for start in range(0, len(wave), _BLOCK):
            block = slice(start, start + _BLOCK)
            both = self._matrix @ np.concatenate((wave[block], self._state))
            result[block] = both[:_BLOCK]
            self._state = both[_BLOCK:]
        return result


def band_pass(low_hz: float, high_hz: float, rate_hz: int) -> LinearFilter:
    """Return a Butterworth filter of the fourth order on either side: 3 dB down at both frequencies, 24 dB per octave.

    Its four sections are the high- and low-pass of R. Bristow-Johnson, "Cookbook formulae for audio equalizer biquad
    filter coefficients" (W3C Note, 2021), in transposed direct form II.
    """
    sections = [_biquad(low_hz, rate_hz, q, is_high_pass=True) for q in _BUTTERWORTH_Q]
    sections += [_biquad(high_hz, rate_hz, q, is_high_pass=False) for q in _BUTTERWORTH_Q]

    def step(sample: Wave, state: Wave) -> Wave:
        for number, (b0, b1, b2, a1, a2) in enumerate(sections):
            held = state[2 * number : 2 * number + 2]
            out = b0 * sample + held[0]
            held[0] = b1 * sample - a1 * out + held[1]
            held[1] = b2 * sample - a2 * out
            sample = out
        return sample

    return LinearFilter(step, 2 * len(sections))


def _biquad(hz: float, rate_hz: int, q: float, *, is_high_pass: bool) -> tuple[float, float, float, float, float]:
    """Return b0, b1, b2, a1, a2 over a0."""
    omega = 2 * math.pi * hz / rate_hz
    cos, alpha = math.cos(omega), math.sin(omega) / (2 * q)
    edge = (1 + cos) / 2 if is_high_pass else (1 - cos) / 2
    middle = -2 * edge if is_high_pass else 2 * edge
    a0 = 1 + alpha
    return edge / a0, middle / a0, edge / a0, -2 * cos / a0, (1 - alpha) / a0


_PINK_POLES = np.array([0.99886, 0.99332, 0.96900, 0.86650, 0.55000, -0.7616])
_PINK_GAINS = np.array([0.0555179, 0.0750759, 0.1538520, 0.3104856, 0.5329522, -0.0168980])
_PINK_DIRECT, _PINK_LATE = 0.5362, 0.115926


def pink_filter() -> LinearFilter:
    """Return what turns white noise into pink noise of the same power.

    Paul Kellet's filter ("refined" form, musicdsp.org no. 76): six sections of the first order side by side, within
    0.05 dB of −3 dB per octave above 0.0002 of the sample rate (3 Hz at 16 kHz).
    """
    gain = 1 / math.sqrt(_pink_power())

    def step(sample: Wave, state: Wave) -> Wave:
        out = _PINK_DIRECT * sample + state[6]
        state[6] = _PINK_LATE * sample
        for number, (pole, share) in enumerate(zip(_PINK_POLES, _PINK_GAINS, strict=True)):
            state[number] = pole * state[number] + share * sample
            out = out + state[number]
        loud: Wave = gain * out
        return loud

    return LinearFilter(step, 7)


def _pink_power() -> float:
    """Return the power that white noise of power 1 leaves the filter with: the sum of its squared impulse response."""
    sections = [share * pole ** np.arange(16_384) for pole, share in zip(_PINK_POLES, _PINK_GAINS, strict=True)]
    response = np.sum(sections, axis=0)
    response[0] += _PINK_DIRECT
    response[1] += _PINK_LATE
    return float(np.sum(response**2))
