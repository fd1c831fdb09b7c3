"""Sound that waits between real time and the ticks of a call. Pure."""

from __future__ import annotations

from collections import deque

from duologue.audio.pcm import level_dbfs
from duologue.protocol.messages import TICK_SAMPLES

SILENCE = bytes(2 * TICK_SAMPLES)
QUIET_BELOW_DBFS = -45.0  # below speech near a microphone, above the noise of a room


class SoundQueue:
    """20 ms ticks of 16 kHz mono in arrival order, handed out one by one.

    Sound begins once ``lead`` ticks wait, so that jitter does not tear words. When more than ``slack`` ticks
    beyond the lead have waited all through the last ``patience`` takes, quiet ticks are left out until the delay
    is gone. Words are lost only beyond ``limit``.

    Args:
        lead: ticks that wait before sound begins, and again after it ran dry.
        slack: ticks of delay that nobody minds.
        patience: takes over which a delay has to stand; 0 acts at once.
        limit: most ticks that may wait; then the oldest go.
    """

    def __init__(self, *, lead: int = 3, slack: int = 3, patience: int = 0, limit: int = 1500) -> None:
        self._lead = lead
        self._slack = slack
        self._patience = patience
        self._ticks: deque[bytes] = deque(maxlen=limit)
        self._is_flowing = False
        self._least = limit
        self._takes = 0
        self._surplus = 0
        self.ran_dry = 0
        self.lost = 0

    def __len__(self) -> int:
        return len(self._ticks)

    def put(self, tick: bytes) -> None:
        """Add the latest tick."""
        if len(self._ticks) == self._ticks.maxlen:
            self.lost += 1
        self._ticks.append(tick)

    def clear(self) -> None:
        """Forget what waits."""
        self._ticks.clear()
        self._is_flowing = False

    def take(self) -> bytes:
        """Return the next tick; silence when none is due."""
        if not self._is_flowing and len(self._ticks) < self._lead:
            return SILENCE
        self._is_flowing = True
        self._shorten()
        if self._ticks:
            return self._ticks.popleft()
        self._is_flowing = False
        self.ran_dry += 1
        return SILENCE

    def _shorten(self) -> None:
        self._least = min(self._least, len(self._ticks))
        self._takes += 1
        if self._takes > self._patience:
            beyond = self._least - self._lead
            self._surplus = beyond if beyond > self._slack else 0
            self._least, self._takes = len(self._ticks), 0
        while self._surplus > 0 and level_dbfs(self._ticks[0]) < QUIET_BELOW_DBFS:
            self._ticks.popleft()
            self._surplus -= 1
