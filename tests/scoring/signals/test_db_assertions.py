import pytest

from duologue.records.event import SummaryPulled
from duologue.records.outcome import Cause, OutcomeKind
from duologue.records.result import ScenarioResult
from duologue.scoring.score import score_trace
from duologue.testing.builders import TraceBuilder
from tests.present import present
from tests.scoring.shop import AGENT, PREDICATES, USER, claim, shop_scenario


def scored(builder: TraceBuilder, *compat: str) -> ScenarioResult:
    return score_trace(builder.build(), None, compat=compat)


def test_every_predicate_has_a_verdict() -> None:
    found = present(scored(TraceBuilder(shop_scenario()).call_tool(USER, "pay").hang_up()).verdict(PREDICATES))
    assert found.score == 0.5
    assert found.evidence["verdicts"][1] == {
        "func_name": "has_paid",
        "side": "user",
        "passed": True,
        "expected": True,
        "actual": True,
        "message": None,
        "error": None,
    }


@pytest.mark.parametrize(("kept", "told"), [(None, "none"), ("none", None), (2.0, 2), (None, "NULL")])
def test_predicates_see_the_values_of_the_shadow_not_what_hashes_alike(kept: object, told: object) -> None:
    scenario = shop_scenario(db_state_assertions=(claim("price_is", item="A1", price=told),))
    builder = TraceBuilder(scenario).call_tool(AGENT, "set_price", item="A1", price=kept).hang_up()
    lie = {"items": {"A1": {"price": told}, "02134": {"price": 1.0}}}
    result = scored(builder.change(SummaryPulled, AGENT, db=lie))
    assert present(result.verdict(PREDICATES)).passed is (kept == told)


def test_expected_false_is_compared_as_a_value() -> None:
    assertion = claim("has_paid", USER).model_copy(update={"assert_value": False})
    scenario = shop_scenario(db_state_assertions=(assertion,))
    assert present(scored(TraceBuilder(scenario).hang_up()).verdict(PREDICATES)).passed is True
    assert present(scored(TraceBuilder(scenario).call_tool(USER, "pay").hang_up()).verdict(PREDICATES)).passed is False


@pytest.mark.parametrize("name", ["no_such_predicate", "says_maybe"])
def test_predicate_that_cannot_be_asked_is_the_harness_fault(name: str) -> None:
    scenario = shop_scenario(db_state_assertions=(claim(name),))
    result = scored(TraceBuilder(scenario).hang_up())
    assert (result.outcome.kind, result.outcome.cause) == (OutcomeKind.NOT_EVALUABLE, Cause.HARNESS)
    assert present(result.verdict(PREDICATES)).evidence["verdicts"][0]["error"]


def test_wrong_arguments_of_a_predicate_are_an_error_not_a_crash() -> None:
    scenario = shop_scenario(db_state_assertions=(claim("price_is", colour="red"),))
    assert scored(TraceBuilder(scenario).hang_up()).outcome.cause is Cause.HARNESS


def test_state_that_a_predicate_cannot_decide_fails_when_gold_could_decide_it() -> None:
    builder = TraceBuilder(shop_scenario()).call_tool(USER, "pay")
    del builder.dual.agent.database["items"]["A1"]
    result = scored(builder.hang_up())
    assert result.outcome.kind is OutcomeKind.FAILED
    assert present(result.verdict(PREDICATES)).evidence["verdicts"][0]["error"] == "ToolError: no item A1"


def test_missing_database_is_not_a_failed_predicate() -> None:
    builder = TraceBuilder(shop_scenario()).hang_up().drop(SummaryPulled, USER)
    result = scored(builder)
    assert (result.outcome.kind, result.outcome.cause) == (OutcomeKind.NOT_EVALUABLE, Cause.TRANSPORT)
    assert scored(builder, "reference").outcome.kind is OutcomeKind.FAILED


def test_predicates_that_hold_from_the_start_do_not_pass_a_silent_agent() -> None:
    scenario = shop_scenario(db_state_assertions=(claim("price_is", item="A1", price=5.0),))
    result = scored(TraceBuilder(scenario).hang_up())
    assert (result.outcome.kind, result.is_task_successful) == (OutcomeKind.NOT_EVALUABLE, None)
    assert scored(TraceBuilder(scenario).hang_up(), "reference").outcome.kind is OutcomeKind.PASSED
