import asyncio
from pathlib import Path
from typing import Any

import pytest

from duologue.clock import SystemClock
from duologue.errors import BotUnavailable
from duologue.records.action import Side
from duologue.records.event import CallEnded
from duologue.records.outcome import Cause, OutcomeKind, StopReason
from duologue.records.result import ScenarioResult
from duologue.records.scenario import Scenario
from duologue.runner.attempt import Attempt, AttemptRunner, Calls
from duologue.runner.bot_calls import BotCalls, build_plan
from duologue.runner.build import build_scenarios
from duologue.runner.observer import SilentObserver
from duologue.runner.settings import RunSettings, Selection
from duologue.trace.call_trace import CallTrace
from duologue.trace.reader import load_trace


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    (first,) = build_scenarios(Selection(prefix="tau2_telecom", limit=1))
    return first


class Buggy:
    """Stands for what holds calls."""

    def header(self) -> dict[str, Any]:
        return {"held_by": "a double"}

    async def hold(self, attempt: Attempt, trace: CallTrace) -> None:
        raise ZeroDivisionError("the bridge has a bug")


class EndedThenBroken(Buggy):
    async def hold(self, attempt: Attempt, trace: CallTrace) -> None:
        trace.end(StopReason.EXIT)
        raise OSError("disk full")


class Endless(Buggy):
    async def hold(self, attempt: Attempt, trace: CallTrace) -> None:
        trace.move_to(20)
        await asyncio.Event().wait()


def runner(calls: Calls, settings: RunSettings | None = None) -> AttemptRunner:
    return AttemptRunner(settings or RunSettings(), SystemClock(), SilentObserver(), calls)


def attempt_at(folder: Path, scenario: Scenario) -> Attempt:
    return Attempt(scenario, folder, run_id="run")


async def result_of(runs: AttemptRunner, attempt: Attempt) -> ScenarioResult:
    results: list[ScenarioResult] = []
    await runs.run(attempt, results.append)
    (result,) = results
    return result


async def test_exception_of_a_call_becomes_an_outcome_with_its_traceback_in_the_log(
    tmp_path: Path, scenario: Scenario
) -> None:
    result = await result_of(runner(Buggy()), attempt_at(tmp_path / "a", scenario))
    assert (result.outcome.kind, result.outcome.cause) == (OutcomeKind.NOT_EVALUABLE, Cause.HARNESS)
    assert "the bridge has a bug" in result.outcome.detail
    assert "Traceback" in (tmp_path / "a" / "bridge_log.txt").read_text(encoding="utf-8")
    assert (tmp_path / "a" / "metrics.json").is_file()


async def test_trouble_after_the_end_of_a_call_is_not_a_verdict(tmp_path: Path, scenario: Scenario) -> None:
    result = await result_of(runner(EndedThenBroken()), attempt_at(tmp_path / "a", scenario))
    assert (result.outcome.kind, result.outcome.cause) == (OutcomeKind.NOT_EVALUABLE, Cause.HARNESS)
    assert "disk full" in result.outcome.detail


async def test_bot_that_cannot_be_started_again_is_transport(tmp_path: Path, scenario: Scenario) -> None:
    async def ensure_bots() -> None:
        raise BotUnavailable("the agent bot ended with code 1", side=Side.AGENT)

    calls = BotCalls(RunSettings(), SystemClock(), ensure_bots)
    result = await result_of(runner(calls), attempt_at(tmp_path / "a", scenario))
    assert (result.outcome.cause, result.stop_reason) == (Cause.TRANSPORT, StopReason.BOT_LOST)


async def test_stopped_attempt_is_stored_before_the_stop_goes_on(tmp_path: Path, scenario: Scenario) -> None:
    results: list[ScenarioResult] = []
    task = asyncio.create_task(runner(Endless()).run(attempt_at(tmp_path / "a", scenario), results.append))
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    trace = load_trace(tmp_path / "a" / "trace.jsonl")
    ended = trace.last(CallEnded)
    assert ended is not None
    assert (ended.stop_reason, ended.media_ms) == (StopReason.INTERRUPTED, 20)
    assert [result.outcome.kind for result in results] == [OutcomeKind.NOT_EVALUABLE]


async def test_header_holds_what_can_change_a_result_and_no_secret(tmp_path: Path, scenario: Scenario) -> None:
    settings = RunSettings(token="hush-hush", min_agent_turns=7)
    await result_of(runner(Buggy(), settings), attempt_at(tmp_path / "a", scenario))
    header = load_trace(tmp_path / "a" / "trace.jsonl").header
    assert (header.settings["min_agent_turns"], header.settings["held_by"]) == (7, "a double")
    assert {"code", "data", "scenario"} <= set(header.provenance)
    assert "hush-hush" not in (tmp_path / "a" / "trace.jsonl").read_text(encoding="utf-8")


def test_epoch_depends_on_scenario_repetition_and_seed(tmp_path: Path, scenario: Scenario) -> None:
    epochs = {Attempt(scenario, tmp_path, "r", number=number, seed=seed).epoch for number in (1, 2) for seed in (0, 1)}
    assert len(epochs) == 4
    assert Attempt(scenario, tmp_path, "r").epoch == Attempt(scenario, tmp_path / "other", "s").epoch


def test_plan_holds_the_reference_and_a_wrong_plan_of_each_kind(scenario: Scenario) -> None:
    plan = build_plan(scenario)
    assert tuple(plan.plan) == scenario.reference_actions
    assert set(plan.mutations) == {"drop", "alter", "add"}


def test_scenario_without_wrong_plans_says_so_only_to_who_debugs(
    scenario: Scenario, caplog: pytest.LogCaptureFixture
) -> None:
    without_steps = scenario.model_copy(update={"reference_actions": ()})
    with caplog.at_level("DEBUG", logger="duologue"):
        plan = build_plan(without_steps)
    assert "drop" not in plan.mutations
    assert {record.levelname for record in caplog.records} == {"DEBUG"}
