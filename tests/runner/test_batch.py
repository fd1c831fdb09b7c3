import asyncio
import errno
import json
from pathlib import Path
from typing import Any

import pytest

from duologue.clock import SystemClock
from duologue.records.outcome import Cause, OutcomeKind
from duologue.records.scenario import Scenario
from duologue.runner.attempt import Attempt, AttemptRunner
from duologue.runner.batch import Batch
from duologue.runner.build import build_scenarios
from duologue.runner.observer import SilentObserver
from duologue.runner.settings import RunSettings, Selection
from duologue.trace.call_trace import CallTrace


@pytest.fixture(scope="module")
def scenarios() -> list[Scenario]:
    return build_scenarios(Selection(prefix="tau2_telecom", limit=3))


class BrokenCalls:
    def header(self) -> dict[str, Any]:
        return {}

    async def hold(self, attempt: Attempt, trace: CallTrace) -> None:
        raise ValueError("no such call")


class SecondHangs(BrokenCalls):
    def __init__(self) -> None:
        self.count = 0
        self.hangs = asyncio.Event()

    async def hold(self, attempt: Attempt, trace: CallTrace) -> None:
        self.count += 1
        if self.count == 2:
            self.hangs.set()
            await asyncio.Event().wait()
        raise ValueError("no such call")


class Watcher(SilentObserver):
    def __init__(self) -> None:
        self.seen: list[str] = []

    def scenario_started(self, number: int, scenario: Scenario) -> None:
        self.seen.append(f"{number} {scenario.name}")


def runner(calls: BrokenCalls, watcher: Watcher | None = None) -> AttemptRunner:
    return AttemptRunner(RunSettings(), SystemClock(), watcher or Watcher(), calls)


async def test_broken_scenario_does_not_stop_the_others(tmp_path: Path, scenarios: list[Scenario]) -> None:
    batch, watcher = Batch.plan(scenarios, tmp_path), Watcher()
    await batch.run(runner(BrokenCalls(), watcher))
    assert [result.scenario for result in batch.results] == [scenario.name for scenario in scenarios]
    assert {result.outcome.kind for result in batch.results} == {OutcomeKind.NOT_EVALUABLE}
    assert watcher.seen == [f"{number} {scenario.name}" for number, scenario in enumerate(scenarios, start=1)]


class DiskFull(BrokenCalls):
    async def hold(self, attempt: Attempt, trace: CallTrace) -> None:
        trace.close()
        raise OSError(errno.ENOSPC, "No space left on device")


async def test_trace_that_takes_no_more_names_the_reason_and_stops_nothing(
    tmp_path: Path, scenarios: list[Scenario]
) -> None:
    batch = Batch.plan(scenarios, tmp_path)
    await batch.run(runner(DiskFull()))
    assert len(batch.results) == 3
    assert {result.outcome.cause for result in batch.results} == {Cause.HARNESS}
    assert all("No space left on device" in result.outcome.detail for result in batch.results)


async def test_files_of_the_run_hold_every_finished_scenario_when_it_is_stopped(
    tmp_path: Path, scenarios: list[Scenario]
) -> None:
    calls = SecondHangs()
    batch = Batch.plan(scenarios, tmp_path)
    task = asyncio.create_task(batch.run(runner(calls)))
    await calls.hangs.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    metrics = json.loads((tmp_path / "all_metrics.json").read_text(encoding="utf-8"))
    assert {entry["scenario_name"] for entry in metrics} == {scenario.name for scenario in scenarios[:2]}
    assert len(batch.folders) == 2
    assert not (tmp_path / scenarios[2].name).exists()


def test_each_attempt_has_its_own_folder_named_after_its_scenario(tmp_path: Path, scenarios: list[Scenario]) -> None:
    batch = Batch.plan([*scenarios, scenarios[0]], tmp_path, seed=5)
    assert [attempt.folder.name for attempt in batch.attempts][:3] == [scenario.name for scenario in scenarios]
    assert batch.attempts[3].folder.name == f"{scenarios[0].name}_2"
    assert {attempt.seed for attempt in batch.attempts} == {5}
