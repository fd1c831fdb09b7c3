"""A line without sound, and calls between a person and a scripted bot."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from duologue.bridge.call import Call, CallSettings
from duologue.clock import SystemClock
from duologue.records.action import Side
from duologue.records.scenario import Scenario
from duologue.talk.desk import Desk
from duologue.talk.phone_line import PhoneLine
from duologue.testing.scripted_bot import BotScript, ScriptedBot
from duologue.trace.reader import Trace, load_trace
from tests.bridge.counter_shop import shop_scenario
from tests.bridge.stage import hold, open_trace


def connected_line() -> PhoneLine:
    line = PhoneLine()
    line.came_up()
    return line


async def call_with_person(
    folder: Path,
    desk: Desk,
    bot: BotScript,
    on_tick: Callable[[int], None],
    *,
    scenario: Scenario | None = None,
    **settings: Any,
) -> Trace:
    """Play a call between the person at ``desk`` and a scripted bot, as fast as it goes."""
    scenario = scenario or shop_scenario()
    trace = open_trace(folder, scenario, on_event=desk.feed.saw, on_tick=on_tick)
    bounds: dict[str, Any] = {"max_duration_s": 4.0, "tick_timeout_s": 1.0, "drain_s": 0.5, **settings}
    async with ScriptedBot(bot) as other:
        urls: dict[str, Any] = {f"{desk.side.other}_url": other.url, f"{desk.side}_url": "ws://nobody"}
        call = Call(
            scenario,
            CallSettings(**urls, **bounds),
            trace,
            folder,
            SystemClock(),
            peers={desk.side: desk.person},
        )
        await hold(call, trace, SystemClock())
    return load_trace(folder / "trace.jsonl")


def shop_desk(side: Side, line: PhoneLine | None = None) -> Desk:
    return Desk(shop_scenario(), side, line or connected_line())


def at(deeds: dict[int, Callable[[], object]]) -> Callable[[int], None]:
    """Return an ``on_tick`` that does something at given media times."""

    def tick(media_ms: int) -> None:
        if media_ms in deeds:
            deeds[media_ms]()

    return tick
