"""What model work costs in session time."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from duologue.bots.media_clock import real_monotonic
from duologue.config import SEEDED_CHARGE


@asynccontextmanager
async def charge_session(charge: str) -> AsyncIterator[None]:
    """Let session time pass after the block for the work done in it.

    Args:
        charge: ``zero``, ``fixed:<ms>``, or ``measured`` for the real time the block took.
    """
    started = real_monotonic()
    yield
    cost_s = charged_s(charge)
    cost_s = real_monotonic() - started if cost_s is None else cost_s
    if cost_s:
        await asyncio.sleep(cost_s)


def charged_s(charge: str, *, seed: str = "", number: int = 0) -> float | None:
    """Return the cost in seconds, or None for ``measured``.

    ``seeded:<distribution>`` draws it from ``seed`` and ``number`` alone: the same request of the same attempt costs
    the same on every machine.
    """
    if charge == "measured":
        return None
    seeded = SEEDED_CHARGE.fullmatch(charge)
    if seeded is None:
        return int(charge.partition(":")[2] or 0) / 1000
    first, second = float(seeded["first"]), float(seeded["second"])
    draw = random.Random(f"{seed}\n{number}")
    if seeded["name"] == "uniform":
        return draw.uniform(first, second) / 1000
    # ``mean_ms`` is the mean of the distribution itself, not of its logarithm.
    return draw.lognormvariate(math.log(first) - second**2 / 2, second) / 1000
