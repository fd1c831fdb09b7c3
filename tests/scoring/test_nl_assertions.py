from duologue.records.outcome import Cause, OutcomeKind
from duologue.records.result import ScenarioResult
from duologue.records.scenario import SignalName
from duologue.scoring.score import score_trace
from duologue.testing.builders import TraceBuilder
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
