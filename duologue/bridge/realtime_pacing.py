"""Keeping a call on the wall clock, and knowing how well that went."""

from __future__ import annotations

from duologue.bridge.settings import RealtimeSettings
from duologue.clock import Clock
from duologue.errors import LoopTooLate
from duologue.protocol.messages import TICK_MS

_FEW = 10
"""So many late ticks are no share of anything."""


class Pacer:
    """Waits for the time of each tick; a loop that was late catches up, so that media time stays wall time.

    Args:
        clock: wall time.
        limits: how late a call in real time may be; None where lateness does no harm.
    """

    def __init__(self, clock: Clock, limits: RealtimeSettings | None = None) -> None:
        self._clock = clock
        self._limits = limits
        self._started = clock.monotonic()
        self.ticks = 0
        self.late_ticks = 0
        self.max_lag_ms = 0

    async def wait(self, media_ms: int) -> None:
        """Return when ``media_ms`` of wall time have passed since the start.

        Raises:
            LoopTooLate: that was longer ago than the limit.
        """
        due = self._started + media_ms / 1000
        await self._clock.sleep(max(due - self._clock.monotonic(), 0.0))
        self.note_lag(round((self._clock.monotonic() - due) * 1000), "this bridge")
        self.ticks += 1

    def note_lag(self, lag_ms: int, who: str) -> None:
        """Take into account that ``who`` is so late.

        Raises:
            LoopTooLate: that is more than the limit.
        """
        self.max_lag_ms = max(self.max_lag_ms, lag_ms)
        if self._limits is None:
            return
        self.late_ticks += lag_ms > self._limits.jitter_ms
        if lag_ms > self._limits.max_lag_ms:
            raise LoopTooLate(
                f"{who} fell {lag_ms} ms behind real time, {self._limits.max_lag_ms} are allowed; "
                "take load off the machine, or raise --max-lag-ms"
            )

    def finish(self) -> None:
        """Check the whole call.

        Raises:
            LoopTooLate: too many ticks were late.
        """
        if self._limits is None or self.late_ticks <= max(_FEW, self._limits.max_late_share * self.ticks):
            return
        raise LoopTooLate(
            f"{self.late_ticks} of {self.ticks} frames left more than {self._limits.jitter_ms} ms late "
            f"({self.ticks * TICK_MS / 1000:g} s of call); take load off the machine"
        )
