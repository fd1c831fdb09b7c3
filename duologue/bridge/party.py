"""One side of a call, as the bridge holds it, and waiting on both sides at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from duologue.audio.pcm import TickResampler
from duologue.bridge.bot_events import BotEvents
from duologue.bridge.call_log import CallLog
from duologue.bridge.connection import BotConnection
from duologue.bridge.exit_drain import BotActivity
from duologue.bridge.settings import CallSettings, PlanPayload
from duologue.clock import Clock
from duologue.protocol.replies import BotAbout
from duologue.records.action import Side
from duologue.records.scenario import Scenario

T = TypeVar("T")


@dataclass(slots=True)
class Party:
    """A bot and what belongs to its side. ``said`` is its latest tick of sound, which the other side hears next."""

    side: Side
    connection: BotConnection
    resampler: TickResampler
    events: BotEvents
    activity: BotActivity = field(default_factory=BotActivity)
    about: BotAbout = field(default_factory=lambda: BotAbout("", {}))
    said: bytes = b""

    def tick_timeout_s(self, settings: CallSettings) -> float:
        """Return the bound of one grant in wall time: the caller's, or the bot's own when that is longer."""
        return max(settings.tick_timeout_s, self.about.max_tick_s)


@dataclass(frozen=True, slots=True)
class Attempt:
    """Everything that the phases of one call share."""

    scenario: Scenario
    settings: CallSettings
    epoch: str
    log: CallLog
    clock: Clock
    parties: Mapping[Side, Party]
    plan: PlanPayload | None = None

    def party(self, side: Side) -> Party:
        """Return one side."""
        return self.parties[side]


def build_party(side: Side, settings: CallSettings, clock: Clock) -> Party:
    """Return a side that is not connected yet."""
    connection = BotConnection(side, settings.url(side), clock, token=settings.token)
    resampler = TickResampler(settings.sample_rate_hz)
    return Party(side, connection, resampler, BotEvents(side), said=resampler.silence)


async def on_both(work: Callable[[Side], Awaitable[T]]) -> dict[Side, T]:
    """Run ``work`` for both sides at once; the first failure cancels the other and is raised alone."""

    async def run(side: Side) -> T:
        return await work(side)

    try:
        async with asyncio.TaskGroup() as group:
            tasks = {side: group.create_task(run(side)) for side in Side}
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return {side: task.result() for side, task in tasks.items()}
