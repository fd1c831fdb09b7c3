"""Whatever holds a call and befalls it: its trace ends once, its result is stored once, it can be run again."""

from __future__ import annotations

import asyncio
import contextlib
import io
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from duologue.brains.reply import BrainCall, BrainReply
from duologue.bridge.settings import RealtimeSettings
from duologue.clock import SystemClock
from duologue.records import event as ev
from duologue.records.caller import ClipSource
from duologue.records.outcome import Cause, OutcomeKind, StopReason
from duologue.records.result import ScenarioResult
from duologue.records.scenario import Scenario
from duologue.runner.attempt import Attempt, AttemptRunner, Calls
from duologue.runner.bot_calls import BotCalls
from duologue.runner.observer import SilentObserver
from duologue.runner.rerun import load_rerun
from duologue.runner.rescoring import rescore_folder
from duologue.runner.settings import RunSettings
from duologue.runner.text_calls import TextCalls
from duologue.runner.turn_calls import TurnCalls
from duologue.testing.scripted_bot import BotFaults, BotScript, ScriptedBot
from duologue.trace.reader import load_trace
from duologue.turn_agents.conversation import TurnSetup
from duologue.turn_agents.turn import MessageTurn
from tests.interop.foreign_bot import ForeignBot
from tests.present import present

pytestmark = pytest.mark.socket

PATIENT = RealtimeSettings(max_lag_ms=100_000, max_late_share=1.0)


class Trouble(StrEnum):
    """``STOPPED``: the run was. ``BUG``: what watches the call breaks. ``LOST``: what answers the caller is gone."""

    STOPPED = "stopped"
    BUG = "bug"
    LOST = "lost"


def tone(_: ClipSource) -> bytes:
    """Return a second of sound as a file."""
    file = io.BytesIO()
    wave = np.sin(np.arange(16_000) / 6) * 0.3
    soundfile.write(file, wave, 16_000, format="WAV")
    return file.getvalue()


@contextlib.asynccontextmanager
async def lock_step(trouble: Trouble, patch: pytest.MonkeyPatch) -> AsyncIterator[Calls]:
    faults = {Trouble.LOST: BotFaults(dies_at_tick=20), Trouble.STOPPED: BotFaults(hangs_at_tick=20)}.get(trouble)
    async with ScriptedBot(BotScript(), faults) as bot:
        yield BotCalls(RunSettings(agent_url=bot.url), SystemClock(), speak=tone)


@contextlib.asynccontextmanager
async def real_time(trouble: Trouble, patch: pytest.MonkeyPatch) -> AsyncIterator[Calls]:
    async def dies(bot: ForeignBot) -> None:
        await bot._loud.wait()
        await present(bot._socket).close()

    async with ForeignBot(capabilities={"tools": "harness"}) as bot, asyncio.TaskGroup() as group:
        if trouble is Trouble.LOST:
            group.create_task(dies(bot))
        settings = RunSettings(agent_url=bot.url, bot_protocol="realtime", realtime=PATIENT)
        yield BotCalls(settings, SystemClock(), speak=tone)


class Reads:
    """Stands for a recognizer."""

    name = "reads"

    async def transcribe(self, audio: bytes, language: str) -> str:
        return "Please set an alarm."

    async def close(self) -> None:
        pass


@contextlib.asynccontextmanager
async def turn_agent(trouble: Trouble, patch: pytest.MonkeyPatch) -> AsyncIterator[Calls]:
    async def agent(history: list[MessageTurn], tool_manifest: list[dict[str, Any]]) -> MessageTurn:
        if trouble is Trouble.LOST:
            raise ConnectionResetError("gone")
        await asyncio.Event().wait()
        raise AssertionError

    yield TurnCalls(TurnSetup(agent, "double", Reads(), speak=tone), SystemClock())


@contextlib.asynccontextmanager
async def text(trouble: Trouble, patch: pytest.MonkeyPatch) -> AsyncIterator[Calls]:
    class Brain:
        def decide(self, messages: list[dict[str, Any]], tools: list[str]) -> BrainReply:
            if trouble is Trouble.LOST:
                raise ConnectionResetError("gone")
            return BrainReply("", (BrainCall("set_alarm", {}),))

    async def performs_for_ever(*_: object) -> None:
        await asyncio.Event().wait()

    patch.setattr("duologue.runner.text_calls.build_agent", lambda *_, **__: Brain())
    patch.setattr("duologue.text.call.TextCall._perform", performs_for_ever)
    yield TextCalls("reference")


class Watcher(SilentObserver):
    """Says when the call has begun; ``breaks`` on that, once."""

    def __init__(self, *, breaks: bool) -> None:
        self.has_begun = asyncio.Event()
        self._breaks = breaks

    def event_written(self, event: ev.Event) -> None:
        if isinstance(event, ev.UtterancePlayed | ev.CallStarted) and not self.has_begun.is_set():
            self.has_begun.set()
            if self._breaks:
                raise KeyError("the watcher has a bug")


async def run_into(trouble: Trouble, calls: Calls, scenario: Scenario, folder: Path) -> list[ScenarioResult]:
    """Run one attempt into trouble and return every result that was stored."""
    results: list[ScenarioResult] = []
    watcher = Watcher(breaks=trouble is Trouble.BUG)
    runner = AttemptRunner(RunSettings(), SystemClock(), watcher, calls)
    attempt = asyncio.create_task(runner.run(Attempt(scenario, folder, run_id="run"), results.append))
    async with asyncio.timeout(20):
        await watcher.has_begun.wait()
        if trouble is Trouble.STOPPED:
            await asyncio.sleep(0.1)
            attempt.cancel()
            with pytest.raises(asyncio.CancelledError):
                await attempt
        await asyncio.wait([attempt])
    assert attempt.cancelled() is (trouble is Trouble.STOPPED)
    return results


Held = Callable[[Trouble, pytest.MonkeyPatch], AbstractAsyncContextManager[Calls]]
LOST: dict[Held, tuple[Cause, StopReason]] = {
    lock_step: (Cause.TRANSPORT, StopReason.BOT_LOST),
    real_time: (Cause.TRANSPORT, StopReason.BOT_LOST),
    turn_agent: (Cause.TRANSPORT, StopReason.FAULT),
    text: (Cause.HARNESS, StopReason.FAULT),
}
AFTER_THE_END = (ev.SummaryPulled, ev.ContextPulled, ev.Fault, ev.StateChecked, ev.FinalState, ev.RecordingWritten)


@pytest.mark.parametrize("trouble", Trouble)
@pytest.mark.parametrize("held", LOST)
async def test_trouble_ends_the_trace_once_and_is_stored_once_and_can_be_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, errands: dict[str, Scenario], held: Held, trouble: Trouble
) -> None:
    scenario = errands["alarm"]
    expected = {
        Trouble.STOPPED: (Cause.HARNESS, StopReason.INTERRUPTED),
        Trouble.BUG: (Cause.HARNESS, StopReason.FAULT),
        Trouble.LOST: LOST[held],
    }[trouble]
    async with held(trouble, monkeypatch) as calls:
        (result,) = await run_into(trouble, calls, scenario, tmp_path / scenario.name)
    assert (result.outcome.kind, result.outcome.cause, result.stop_reason) == (OutcomeKind.NOT_EVALUABLE, *expected)

    trace = load_trace(tmp_path / scenario.name / "trace.jsonl")
    kinds = [type(event) for event in trace.events]
    assert kinds.count(ev.CallEnded) == 1
    rest = kinds[kinds.index(ev.CallEnded) + 1 :]
    assert set(rest) <= set(AFTER_THE_END) and rest.count(ev.FinalState) == 1
    assert [event.t_ms for event in trace.events] == sorted(event.t_ms for event in trace.events)

    assert load_rerun(tmp_path).names == (scenario.name,)
    assert rescore_folder(tmp_path / scenario.name) == result
