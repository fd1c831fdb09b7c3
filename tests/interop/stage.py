"""Playing one call in real time with bots that are not ours, on a clock that runs faster than the wall."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from duologue.audio.recording import Tracks, read_recording
from duologue.bridge.call import Call, CallSettings
from duologue.bridge.clip import Clip
from duologue.bridge.settings import RealtimeSettings
from duologue.clock import SystemClock
from duologue.records.event import Fault
from duologue.records.result import ScenarioResult
from duologue.records.run_layout import RECORDING
from duologue.records.scenario import Scenario
from duologue.scoring.score import score_trace
from duologue.testing.scripted_bot import BotScript, ScriptedBot
from duologue.trace.reader import Trace, load_trace
from tests.bridge.counter_shop import shop_scenario
from tests.bridge.stage import hold, open_trace
from tests.interop.foreign_bot import ForeignBot

PATIENT = RealtimeSettings(max_lag_ms=100_000, max_late_share=1.0, busy_wait_s=0.05)
"""Limits for tests that are about something else, on a machine with other work."""


class FastClock:
    """Runs ``speed`` times as fast as the wall; ``lag_s`` is added once ``lag_at_s`` have passed."""

    def __init__(self, speed: float = 6.0, *, lag_at_s: float | None = None, lag_s: float = 0.0) -> None:
        self._wall, self._speed = SystemClock(), speed
        self._started = self._wall.monotonic()
        self._lag_at_s, self._lag_s = lag_at_s, lag_s

    def monotonic(self) -> float:
        now = (self._wall.monotonic() - self._started) * self._speed
        return now + self._lag_s if self._lag_at_s is not None and now > self._lag_at_s else now

    def utc_now(self) -> datetime:
        return datetime(2025, 2, 25, tzinfo=UTC)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / self._speed)


@dataclass(frozen=True)
class Played:
    """What a call left behind."""

    folder: Path
    trace: Trace

    @property
    def tracks(self) -> Tracks:
        return read_recording(self.folder / RECORDING)

    @property
    def result(self) -> ScenarioResult:
        return score_trace(self.trace, None)

    @property
    def fault(self) -> Fault:
        (fault,) = self.trace.of(Fault)
        return fault


async def play(
    folder: Path,
    agent: ForeignBot,
    user: ForeignBot | ScriptedBot | BotScript | None = None,
    *,
    scenario: Scenario | None = None,
    clock: FastClock | None = None,
    clips: Mapping[str, Clip] | None = None,
    **settings: Any,
) -> Played:
    """Play a call in real time; a script on the user side is one of our own bots in lock-step."""
    scenario = scenario or shop_scenario()
    trace, clock = open_trace(folder, scenario), clock or FastClock()
    bounds: dict[str, Any] = {"max_duration_s": 6.0, "request_timeout_s": 5.0, "init_timeout_s": 2.0}
    async with contextlib.AsyncExitStack() as stack:
        other = user if isinstance(user, ForeignBot | ScriptedBot) else ScriptedBot(user)
        for bot in (agent, other):
            await stack.enter_async_context(bot)
        given = CallSettings(
            agent_url=agent.url,
            user_url=other.url,
            protocol="realtime",
            **{**bounds, "realtime": PATIENT, **settings},
        )
        await hold(Call(scenario, given, trace, folder, clock, clips=clips), trace, clock)
    return Played(folder, load_trace(folder / "trace.jsonl"))
