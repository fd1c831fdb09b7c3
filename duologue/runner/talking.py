"""One attempt with a person on one side: the other side's bot is brought up, the page is served, the call is run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from duologue.clock import Clock
from duologue.errors import ConfigError
from duologue.records.action import Side
from duologue.records.event import Event
from duologue.records.result import ScenarioResult
from duologue.records.scenario import Scenario
from duologue.runner.attempt import AttemptRunner
from duologue.runner.batch import Batch
from duologue.runner.bot_calls import BotCalls
from duologue.runner.launch import LaunchedBots, launched_bots
from duologue.runner.observer import RunObserver
from duologue.runner.settings import RunSettings
from duologue.talk.desk import Desk
from duologue.talk.server import TalkServer
from duologue.toolkit.resource_life import started_resources

_LAST_WORDS_S = 3.0
"""How long the page may take to read the result before the server goes."""


@dataclass(frozen=True, slots=True)
class PageSettings:
    """Where the page is served."""

    host: str = "127.0.0.1"
    port: int = 8767
    token: str | None = None


@dataclass(frozen=True, slots=True)
class ShownOnPage:
    """Passes what happens on to the page, and to another observer."""

    desk: Desk
    observer: RunObserver

    def run_started(self, run_dir: Path, total: int) -> None:
        """Pass on."""
        self.observer.run_started(run_dir, total)

    def scenario_started(self, number: int, scenario: Scenario) -> None:
        """Pass on, and say on the page that it begins."""
        self.desk.feed.status("preparing")
        self.observer.scenario_started(number, scenario)

    def event_written(self, event: Event) -> None:
        """Pass on."""
        self.desk.feed.saw(event)
        self.observer.event_written(event)

    def ticked(self, media_ms: int) -> None:
        """Pass on."""
        self.desk.feed.ticked(media_ms)
        self.observer.ticked(media_ms)

    def scenario_finished(self, result: ScenarioResult, folder: Path) -> None:
        """Pass on, and show the result on the page."""
        self.desk.show_result(result, str(folder))
        self.observer.scenario_finished(result, folder)


def check_talk(scenario: Scenario) -> None:
    """Refuse a scenario that no person can take part in.

    Raises:
        ConfigError: its caller takes no bot, and so no person.
    """
    if not scenario.caller.takes_bot:
        raise ConfigError(
            f"{scenario.name}: its caller is {scenario.caller.what}, so there is no side for a person to take"
        )


async def conduct_talk(
    settings: RunSettings,
    page: PageSettings,
    batch: Batch,
    desk: Desk,
    observer: RunObserver,
    clock: Clock,
    on_ready: Callable[[str], None],
) -> None:
    """Wait for a browser, run the attempt of ``batch`` with it, and show the result.

    ``on_ready`` gets the address of the page once everything is up.

    Raises:
        ConfigError: the page cannot be served as asked.
        ResourceFailed: a resource that the scenario uses could not be started.
        BotUnavailable: the other side's bot did not become ready.
    """
    async with (
        started_resources([attempt.scenario for attempt in batch.attempts], settings.resource_urls) as resources,
        _other_bot(settings, batch, desk.side.other) as (reached, bots),
        TalkServer(desk, page.host, page.port, page.token) as server,
    ):
        on_ready(server.url)
        await desk.line.wait_connected()
        ensure_bots = bots.ensure_running if bots is not None else None
        calls = BotCalls(reached, clock, ensure_bots, peers={desk.side: desk.person}, resources=resources)
        await batch.run(AttemptRunner(reached, clock, ShownOnPage(desk, observer), calls))
        await server.flush(_LAST_WORDS_S)


@asynccontextmanager
async def _other_bot(
    settings: RunSettings, batch: Batch, side: Side
) -> AsyncIterator[tuple[RunSettings, LaunchedBots | None]]:
    if settings.launch is None:
        yield settings, None
        return
    async with launched_bots(settings.launch, batch.run_dir, token=settings.token, sides=[side]) as bots:
        url = bots.bots[side].url
        yield (
            replace(settings, agent_url=url) if side is Side.AGENT else replace(settings, user_url=url),
            bots,
        )
