"""One side of a call, as the bridge holds it, and waiting on all sides at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from duologue.audio.pcm import TickResampler
from duologue.bridge.bot_events import BotEvents
from duologue.bridge.connection import BotConnection
from duologue.bridge.exit_drain import BotActivity
from duologue.bridge.peer import Peer
from duologue.bridge.realtime import RealtimeConnection
from duologue.bridge.settings import CallSettings, PlanPayload
from duologue.clock import Clock
from duologue.protocol.replies import BotAbout
from duologue.records.action import Side
from duologue.records.event import Event
from duologue.records.scenario import Scenario
from duologue.toolkit.resources import Clones
from duologue.toolkit.rules import ToolHome, tool_home
from duologue.trace.call_trace import CallTrace

T = TypeVar("T")


@dataclass(slots=True)
class Party:
    """Who holds a side, and what belongs to it. ``said`` is its latest tick of sound, the next one the other hears."""

    side: Side
    connection: Peer
    resampler: TickResampler
    events: BotEvents
    activity: BotActivity = field(default_factory=BotActivity)
    about: BotAbout = field(default_factory=lambda: BotAbout("", {}))
    said: bytes = b""
    home: ToolHome = ToolHome.BOT

    @property
    def hosts_tools(self) -> bool:
        """Whether this side runs its tools itself; otherwise the harness does, on the only database there is."""
        return self.home is ToolHome.BOT and not self.about.has_harness_tools

    def tick_timeout_s(self, settings: CallSettings) -> float:
        """Return the bound of one grant in wall time: the caller's, or the bot's own when that is longer."""
        return max(settings.tick_timeout_s, self.about.max_tick_s)


class HeldCaller:
    """A bot or a person: it hears and hangs up by its own connection, and its sound is what came over that."""

    has_hung_up = False

    def __init__(self, party: Party) -> None:
        self._party = party

    @property
    def activity(self) -> BotActivity:
        """What its party has under way."""
        return self._party.activity

    def hear(self, text: str) -> None:
        """Do nothing: it has ears of its own."""

    def step(self, t_ms: int, agent: BotActivity, *, may_start: bool = True) -> tuple[bytes, list[Event]]:
        """Return the party's latest tick of sound."""
        return self._party.said, []


@dataclass(frozen=True, slots=True)
class CallContext:
    """Everything that the phases of one call share. A caller that no bot holds has no party."""

    scenario: Scenario
    settings: CallSettings
    epoch: str
    log: CallTrace
    clock: Clock
    parties: Mapping[Side, Party]
    plan: PlanPayload | None = None
    clones: Clones = field(default_factory=Clones)

    @property
    def sides(self) -> tuple[Side, ...]:
        """The sides that are bots."""
        return tuple(side for side in Side if side in self.parties)

    def party(self, side: Side) -> Party:
        """Return one side."""
        return self.parties[side]


def build_party(
    side: Side, scenario: Scenario, settings: CallSettings, clock: Clock, peer: Peer | None = None
) -> Party:
    """Return a side that is not connected yet; a bot holds it, unless somebody else does."""
    connection = peer or _bot(side, settings, clock)
    resampler = TickResampler(settings.sample_rate_hz)
    return Party(
        side, connection, resampler, BotEvents(side), said=resampler.silence, home=tool_home(scenario.domain, side)
    )


def _bot(side: Side, settings: CallSettings, clock: Clock) -> Peer:
    url, token = settings.url(side), settings.token
    if settings.is_realtime:
        return RealtimeConnection(side, url, clock, settings.realtime, token=token)
    return BotConnection(side, url, clock, token=token)


async def on_sides(sides: Iterable[Side], work: Callable[[Side], Awaitable[T]]) -> dict[Side, T]:
    """Run ``work`` for all ``sides`` at once; the first failure cancels the others and is raised alone."""

    async def run(side: Side) -> T:
        return await work(side)

    try:
        async with asyncio.TaskGroup() as group:
            tasks = {side: group.create_task(run(side)) for side in sides}
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return {side: task.result() for side, task in tasks.items()}
