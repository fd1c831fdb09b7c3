"""The one reader of wall-clock time outside a session's media clock.

Everything that needs time takes a :class:`Clock`; nothing else in the package calls ``time``,
``datetime.now`` or ``asyncio.sleep``.
"""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """A source of wall time and of waiting."""

    def monotonic(self) -> float:
        """Return seconds on a clock that never goes back."""
        ...

    def utc_now(self) -> datetime:
        """Return the current instant, timezone-aware in UTC."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait for ``seconds`` of this clock's time."""
        ...


class SystemClock:
    """The machine's clock."""

    def monotonic(self) -> float:
        """Return ``time.monotonic()`` in seconds."""
        return time.monotonic()

    def utc_now(self) -> datetime:
        """Return the current instant in UTC."""
        return datetime.now(UTC)

    async def sleep(self, seconds: float) -> None:
        """Wait for ``seconds`` of real time on the running loop."""
        await asyncio.sleep(seconds)
