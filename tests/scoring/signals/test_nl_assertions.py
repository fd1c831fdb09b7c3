from duologue.records.outcome import Cause, OutcomeKind
from duologue.records.result import ScenarioResult
from duologue.records.scenario import SignalName
from duologue.scoring.aggregate import aggregate_results
from duologue.scoring.score import score_trace
from duologue.testing.builders import TraceBuilder
from tests.scoring.judged import judge_result
from tests.scoring.shop import AGENT, EXIT, PREDICATES, USER, shop_scenario


def done(*signals: SignalName, compat: tuple[str, ...] = ()) -> ScenarioResult:
    scenario = shop_scenario(nl_assertions=("The agent is kind.",), success_signals=signals)
    builder = TraceBuilder(scenario).call_tool(AGENT, "set_price", item="A1", price=7.5).call_tool(USER, "pay")
    return score_trace(builder.hang_up().build(), None, compat=compat)


def test_statements_that_gate_need_a_judge() -> None:
    result = done(PREDICATES, SignalName.NL_ASSERTION, EXIT)
    assert (result.outcome.kind, result.outcome.cause) == (OutcomeKind.NOT_EVALUABLE, Cause.JUDGE)
    assert result.breakdown.not_evaluable == ("nl_assertion",)


def test_statements_that_do_not_gate_are_left_out() -> None:
    assert done(PREDICATES, EXIT).outcome.kind is OutcomeKind.PASSED


def test_judge_score_that_gates_needs_a_judge() -> None:
    result = done(SignalName.JUDGE_PASSED, EXIT)
    assert (result.outcome.cause, result.is_task_successful) == (Cause.JUDGE, None)


def test_reference_mode_drops_the_gate_in_silence() -> None:
    result = done(PREDICATES, SignalName.NL_ASSERTION, EXIT, compat=("reference",))
    assert result.outcome.kind is OutcomeKind.PASSED
    assert result.breakdown.not_applicable == ("nl_assertion",)


def judged(claims: dict[str, bool] | None, *, score: float | None = 1.0) -> ScenarioResult:
    statements = ("The agent is kind.", "The agent is quick.")
    scenario = shop_scenario(nl_assertions=statements, success_signals=(SignalName.NL_ASSERTION, EXIT))
    trace = TraceBuilder(scenario).hang_up().build()
    return score_trace(trace, None, judge=judge_result(score, claims=claims))


def test_all_statements_have_to_hold() -> None:
    assert judged({"The agent is kind.": True, "The agent is quick.": True}).outcome.kind is OutcomeKind.PASSED
    result = judged({"The agent is kind.": True, "The agent is quick.": False})
    assert result.outcome.kind is OutcomeKind.FAILED
    assert "1 of 2 statements hold; not 'The agent is quick.': because 2" in result.outcome.detail


def test_statements_are_counted_one_by_one() -> None:
    result = judged({"The agent is kind.": True, "The agent is quick.": False})
    assert aggregate_results([result]).overall.signals["nl_assertion"].total == 2


def test_judge_without_a_usable_reply_decides_no_statement() -> None:
    result = judged(None, score=None)
    assert (result.outcome.cause, "no usable reply" in result.outcome.detail) == (Cause.JUDGE, True)


def test_verdicts_on_other_statements_do_not_count() -> None:
    result = judged({"The agent is kind.": True, "The agent is slow.": True})
    assert (result.outcome.cause, "other statements" in result.outcome.detail) == (Cause.JUDGE, True)
