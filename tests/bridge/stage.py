"""Playing one call between two scripted bots over real sockets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from duologue.audio.recording import Tracks, read_recording
from duologue.bridge.call import Call, CallSettings, PlanPayload
from duologue.bridge.clip import Clip
from duologue.clock import Clock, SystemClock
from duologue.records.event import Event, Fault, TraceHeader
from duologue.records.run_layout import RECORDING
from duologue.records.scenario import Scenario
from duologue.testing.scripted_bot import BotFaults, BotScript, ScriptedBot, ScriptedSession, exit_push
from duologue.toolkit.resources import Clones
from duologue.trace.call_trace import CallTrace
from duologue.trace.held_call import hold_call
from duologue.trace.reader import Trace, load_trace
from duologue.trace.writer import TraceWriter
from tests.bridge.counter_shop import shop_scenario

SILENT_END = BotScript(messages={5: [exit_push()]})


@dataclass(frozen=True)
class Played:
    """What a call left behind."""

    folder: Path
    trace: Trace
    agent: ScriptedSession | None
    user: ScriptedSession | None

    @property
    def tracks(self) -> Tracks:
        return read_recording(self.folder / RECORDING)

    @property
    def fault(self) -> Fault:
        (fault,) = self.trace.of(Fault)
        return fault


def header(scenario: Scenario, epoch: str = "epoch-1") -> TraceHeader:
    return TraceHeader(run_id="run", epoch=epoch, utc_started="2025-02-25T00:00:00Z", scenario=scenario)


def open_trace(
    folder: Path,
    scenario: Scenario,
    epoch: str = "epoch-1",
    on_event: Callable[[Event], None] | None = None,
    on_tick: Callable[[int], None] | None = None,
) -> CallTrace:
    folder.mkdir(parents=True, exist_ok=True)
    return CallTrace(TraceWriter(folder / "trace.jsonl", header(scenario, epoch)), on_event, on_tick)


async def hold(call: Call, trace: CallTrace, clock: Clock) -> None:
    """Hold a call and close its trace, as the runner of attempts does."""
    try:
        await hold_call(call, trace, clock)
    finally:
        trace.close()


async def play(
    folder: Path,
    agent: BotScript | None = None,
    user: BotScript | None = None,
    *,
    agent_faults: BotFaults | None = None,
    user_faults: BotFaults | None = None,
    scenario: Scenario | None = None,
    plan: PlanPayload | None = None,
    clips: Mapping[str, Clip] | None = None,
    clones: Clones | None = None,
    epoch: str = "epoch-1",
    clock: Clock | None = None,
    on_event: Callable[[Event], None] | None = None,
    on_tick: Callable[[int], None] | None = None,
    **settings: Any,
) -> Played:
    scenario = scenario or shop_scenario()
    trace, clock = open_trace(folder, scenario, epoch, on_event, on_tick), clock or SystemClock()
    bounds = {"max_duration_s": 3.0, "tick_timeout_s": 1.0, "request_timeout_s": 0.5, "init_timeout_s": 0.5}
    async with ScriptedBot(agent or SILENT_END, agent_faults) as one, ScriptedBot(user, user_faults) as other:
        urls = {"agent_url": one.url, "user_url": other.url}
        call = Call(
            scenario,
            CallSettings(**{**urls, **bounds, **settings}),
            trace,
            folder,
            clock,
            plan=plan,
            clips=clips,
            clones=clones,
        )
        await hold(call, trace, clock)
        sessions = [bot.sessions[-1] if bot.sessions else None for bot in (one, other)]
    return Played(folder, load_trace(folder / "trace.jsonl"), *sessions)
