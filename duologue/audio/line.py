"""The line between the two sides: every sound that one says passes it and becomes what the other hears. Pure.

What happens in one direction, in this order: gain and noise at the speaker's place, the band of the telephone, the
16 bits of a frame, loss and delay in the network. Everything random is drawn from the key of the attempt, for each
direction and each effect on its own, so that equal keys give equal bytes.
"""

from __future__ import annotations

import hashlib
from collections import deque

import numpy as np
import numpy.typing as npt

from duologue.audio.filters import LinearFilter, band_pass, pink_filter
from duologue.audio.pcm import FULL_SCALE, level_dbfs, pcm_of, samples_of
from duologue.records.conditions import FRAME_MS, ChannelConditions, LineConditions, Loss

_SILENT_DBFS = -120.0
"""The level of nothing: below the quietest step of 16 bits, -90 dBFS."""

Wave = npt.NDArray[np.float64]


class Channel:
    """One direction of a line; carries frame after frame of 20 ms, and silence counts.

    Args:
        conditions: what happens to the sound.
        key: what everything random is drawn from.
        rate_hz: samples a second of what is carried.
    """

    def __init__(self, conditions: ChannelConditions, key: str, rate_hz: int = 16_000) -> None:
        self.delay_ms = conditions.delay_ms
        self.is_clean = conditions.is_clean
        self.rate_hz = rate_hz
        samples = rate_hz * FRAME_MS // 1000
        self._silence = bytes(2 * samples)
        self._gain_db = conditions.gain_db
        self._noise = _NoiseSource(conditions, key, samples) if conditions.noise is not None else None
        band = conditions.band
        self._band = band_pass(band.low_hz, band.high_hz, rate_hz) if band is not None else None
        self._loss = _FrameLoss(conditions.loss, key) if conditions.loss is not None else None
        frames = conditions.delay_ms // FRAME_MS
        self._under_way = deque([self._silence] * frames)
        self._levels = deque([_SILENT_DBFS] * (frames + 1), maxlen=frames + 1)

    def carry(self, pcm: bytes) -> bytes:
        """Take what is said in the next 20 ms and return what is heard in them; a clean channel returns ``pcm``.

        Raises:
            ValueError: it is not one frame of 16-bit mono.
        """
        if self.is_clean:
            return pcm
        if len(pcm) != self.frame_bytes:
            raise ValueError(f"a line carries {self.frame_bytes // 2} samples at once, not {len(pcm) / 2:g}")
        is_lost = self._loss is not None and self._loss.takes_next()
        self._levels.append(_SILENT_DBFS if is_lost else level_dbfs(pcm) + self._gain_db)
        changed = self._change(pcm)
        self._under_way.append(self._silence if is_lost else changed)
        return self._under_way.popleft()

    @property
    def frame_bytes(self) -> int:
        """Size of a frame."""
        return len(self._silence)

    @property
    def arrived_dbfs(self) -> float:
        """The level of the speech, without the noise, in the frame that :meth:`carry` returned last."""
        return self._levels[0]

    @property
    def loudest_dbfs(self) -> float:
        """The highest level of speech in that frame and in those that are under way."""
        return max(self._levels)

    def _change(self, pcm: bytes) -> bytes:
        """Return the frame as it leaves for the network; noise and filter go on through frames that are lost."""
        if self._noise is None and self._band is None and not self._gain_db:
            return pcm
        wave: Wave = samples_of(pcm).astype(np.float64) * (10 ** (self._gain_db / 20) / FULL_SCALE)
        if self._noise is not None:
            wave = wave + self._noise.take()
        if self._band is not None:
            wave = self._band.filter(wave)
        return pcm_of(wave)


class Line:
    """Both directions between the sides of one attempt.

    Args:
        conditions: what happens on it.
        key: names the attempt: scenario, trial, seed and conditions.
        rate_hz: samples a second of what is carried.
    """

    def __init__(self, conditions: LineConditions, key: str, rate_hz: int = 16_000) -> None:
        self.conditions = conditions
        self.to_agent = Channel(conditions.to_agent, f"{key}\nto_agent", rate_hz)
        self.to_user = Channel(conditions.to_user, f"{key}\nto_user", rate_hz)


class _NoiseSource:
    def __init__(self, conditions: ChannelConditions, key: str, samples: int) -> None:
        assert conditions.noise is not None
        self._random = _generator(key, "noise")
        self._samples = samples
        self._rms = 10 ** (conditions.noise.level_dbfs / 20)
        self._colour: LinearFilter | None = pink_filter() if conditions.noise.kind == "pink" else None

    def take(self) -> Wave:
        """Return the noise of the next frame."""
        white: Wave = self._random.standard_normal(self._samples) * self._rms
        return white if self._colour is None else self._colour.filter(white)


class _FrameLoss:
    """The two states of E. N. Gilbert, "Capacity of a Burst-Noise Channel", Bell System Technical Journal 39 (1960).

    In the good state every frame arrives, in the bad one none. A bad state lasts ``burst_ms`` on average, so it ends
    after each frame with the chance 20 / burst_ms; the chance to enter it is what makes ``rate`` the share of frames
    that are lost. The first frame is drawn from that share as well.
    """

    def __init__(self, loss: Loss, key: str) -> None:
        self._random = _generator(key, "loss")
        self._leave = FRAME_MS / loss.burst_ms
        self._enter = self._leave * loss.rate / (1 - loss.rate)
        self._is_bad = bool(self._random.random() < loss.rate)

    def takes_next(self) -> bool:
        """Return whether the next frame is lost."""
        is_bad = self._is_bad
        chance = self._leave if is_bad else self._enter
        if self._random.random() < chance:
            self._is_bad = not is_bad
        return is_bad


def _generator(key: str, effect: str) -> np.random.Generator:
    digest = hashlib.sha256(f"{key}\n{effect}".encode()).digest()
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest)))
