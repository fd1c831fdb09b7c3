"""A run that asks a judge after each call."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from duologue.clock import SystemClock
from duologue.errors import TraceError
from duologue.records.action import Side
from duologue.records.outcome import Cause, OutcomeKind
from duologue.records.result import ScenarioResult
from duologue.records.run_layout import JUDGE_RESULT
from duologue.records.scenario import Scenario, SignalName
from duologue.runner.attempt import Attempt, AttemptRunner
from duologue.runner.build import build_scenarios
from duologue.runner.judging import load_judge_result
from duologue.runner.observer import SilentObserver
from duologue.runner.settings import RunSettings, Selection
from duologue.scoring.judge.client import build_judge
from duologue.scoring.judge.settings import JudgeSettings
from duologue.testing.builders import TraceBuilder
from duologue.testing.judge_double import JudgeDouble, JudgeStep, graded, judge_double
from duologue.trace.call_trace import CallTrace

pytestmark = pytest.mark.socket


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    (first,) = build_scenarios(Selection(prefix="tau2_telecom", limit=1))
    return first.model_copy(update={"success_signals": (SignalName.JUDGE_PASSED, SignalName.CLEAN_EXIT)})


@dataclass(frozen=True)
class ToldCalls:
    """Calls whose events are given; the caller says ``line``."""

    line: str = "Help."

    def header(self) -> dict[str, Any]:
        return {}

    async def hold(self, attempt: Attempt, trace: CallTrace) -> None:
        builder = TraceBuilder(attempt.scenario).say(Side.AGENT, "Hello.", 0, 500)
        for event in builder.say(Side.USER, self.line, 900, 1500).hang_up().events:
            trace.t_ms = event.t_ms
            trace.write(event)


LYING = ToldCalls("My name is Peter Jones.")


async def judged(
    double: JudgeDouble, folder: Path, scenario: Scenario, calls: ToldCalls = ToldCalls()
) -> ScenarioResult:
    clock = SystemClock()
    judge = build_judge(JudgeSettings(double.url, "grader", timeout_s=5, attempts=1), clock, None)
    runner = AttemptRunner(
        RunSettings(min_agent_turns=0),
        clock,
        SilentObserver(),
        calls,
        judge,
    )
    results: list[ScenarioResult] = []
    await runner.run(Attempt(scenario, folder, run_id="run"), results.append)
    return results[0]


async def test_judge_decides_after_the_call(tmp_path: Path, scenario: Scenario) -> None:
    async with judge_double(graded(0.95), graded(0.2)) as double:
        good = await judged(double, tmp_path / "a", scenario)
        bad = await judged(double, tmp_path / "b", scenario)
    assert (good.outcome.kind, bad.outcome.kind) == (OutcomeKind.PASSED, OutcomeKind.FAILED)
    stored = json.loads((tmp_path / "a" / JUDGE_RESULT).read_text(encoding="utf-8"))
    assert (stored["score"], stored["provenance"]["model"]) == (0.95, "grader")


async def test_judge_that_breaks_costs_the_verdict_and_not_the_attempt(tmp_path: Path, scenario: Scenario) -> None:
    async with judge_double(JudgeStep("prose")) as double:
        result = await judged(double, tmp_path / "a", scenario)
    assert (result.outcome.kind, result.outcome.cause) == (OutcomeKind.NOT_EVALUABLE, Cause.JUDGE)
    assert result.stop_reason is not None


async def test_attempt_that_cannot_be_evaluated_is_not_put_to_the_judge(tmp_path: Path, scenario: Scenario) -> None:
    async with judge_double(graded(1.0)) as double:
        result = await judged(double, tmp_path / "a", scenario, LYING)
        assert (result.outcome.cause, double.requests) == (Cause.USER_SIM, 0)


def test_damaged_reply_is_an_error_that_says_how_to_ask_again(tmp_path: Path) -> None:
    (tmp_path / JUDGE_RESULT).write_text('{"score": "high"}', encoding="utf-8")
    with pytest.raises(TraceError, match="rescore with --judge"):
        load_judge_result(tmp_path / JUDGE_RESULT)
    assert load_judge_result(tmp_path / "nothing.json") is None
