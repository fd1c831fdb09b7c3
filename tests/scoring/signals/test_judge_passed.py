import pytest

from duologue.records.outcome import Cause, OutcomeKind
from duologue.records.result import ScenarioResult
from duologue.records.scenario import SignalName
from duologue.scoring.score import score_trace
from duologue.testing.builders import TraceBuilder
from tests.scoring.judged import judge_result
from tests.scoring.shop import AGENT, EXIT, PREDICATES, USER, shop_scenario

JUDGE = SignalName.JUDGE_PASSED


def scored(score: float | None, *signals: SignalName, solved: bool = True) -> ScenarioResult:
    builder = TraceBuilder(shop_scenario(success_signals=signals))
    if solved:
        builder.call_tool(AGENT, "set_price", item="A1", price=7.5).call_tool(USER, "pay")
    return score_trace(builder.hang_up().build(), None, judge=judge_result(score))


@pytest.mark.parametrize(("score", "kind"), [(0.9, OutcomeKind.PASSED), (0.8999, OutcomeKind.FAILED)])
def test_score_has_to_reach_the_threshold(score: float, kind: OutcomeKind) -> None:
    result = scored(score, JUDGE, EXIT)
    verdict = result.verdict(JUDGE)
    assert verdict is not None
    assert (result.outcome.kind, verdict.score) == (kind, score)
    assert verdict.evidence == {"expected": 0.9, "found": score, "judge": "grader"}


def test_judge_without_a_usable_reply_is_not_evaluable_and_never_zero() -> None:
    result = scored(None, JUDGE, EXIT)
    verdict = result.verdict(JUDGE)
    assert (result.outcome.kind, result.outcome.cause) == (OutcomeKind.NOT_EVALUABLE, Cause.JUDGE)
    assert verdict is not None and (verdict.passed, verdict.score) == (None, None)


def test_failed_gate_stands_against_a_judge_that_does_not_answer() -> None:
    assert scored(None, PREDICATES, JUDGE, solved=False).outcome.kind is OutcomeKind.FAILED


def test_score_that_does_not_gate_is_reported_and_decides_nothing() -> None:
    result = scored(0.0, PREDICATES, EXIT)
    assert result.outcome.kind is OutcomeKind.PASSED
    assert JUDGE in result.breakdown.excluded
    assert scored(None, PREDICATES, EXIT).outcome.kind is OutcomeKind.PASSED
