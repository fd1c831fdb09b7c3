"""What model work costs in session time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from duologue.bots.media_clock import CLOCK, real_monotonic


@asynccontextmanager
async def charge_session(charge: str) -> AsyncIterator[None]:
    """Let session time pass after the block for the work done in it; in real time it has passed already.

    Args:
        charge: ``zero``, ``fixed:<ms>``, or ``measured`` for the real time the block took.
    """
    started = real_monotonic()
    yield
    if CLOCK.get() is None:
        return
    cost_s = charged_s(charge)
    cost_s = real_monotonic() - started if cost_s is None else cost_s
    if cost_s:
        await asyncio.sleep(cost_s)


def charged_s(charge: str) -> float | None:
    """Return the fixed cost in seconds, or None for ``measured``."""
    if charge == "measured":
        return None
    return int(charge.partition(":")[2] or 0) / 1000
