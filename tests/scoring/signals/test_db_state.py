from duologue.records.event import SummaryPulled
from duologue.records.outcome import Cause, OutcomeKind, Verdict
from duologue.records.result import ScenarioResult
from duologue.scoring.score import score_trace
from duologue.testing.builders import TraceBuilder
from tests.scoring.shop import AGENT, EXIT, STATE, USER, shop_scenario


def state_builder(**changes: object) -> TraceBuilder:
    return TraceBuilder(shop_scenario(success_signals=(STATE, EXIT), **changes))


def scored(builder: TraceBuilder, *compat: str) -> tuple[ScenarioResult, Verdict]:
    result = score_trace(builder.build(), None, compat=compat)
    found = result.verdict(STATE)
    assert found is not None
    return result, found


def test_both_databases_must_equal_gold_replay() -> None:
    done = state_builder().call_tool(AGENT, "set_price", item="A1", price=7.5).call_tool(USER, "pay").hang_up()
    assert scored(done)[0].outcome.kind is OutcomeKind.PASSED


def test_the_user_database_counts_too() -> None:
    builder = state_builder().call_tool(AGENT, "set_price", item="A1", price=7.5).hang_up()
    result, found = scored(builder)
    assert result.outcome.kind is OutcomeKind.FAILED
    assert found.evidence["differences"] == {"user": ["paid: True != False"]}
    assert scored(builder, "reference")[1].passed is True


def test_missing_database_is_not_a_mismatch() -> None:
    builder = state_builder().hang_up().change(SummaryPulled, AGENT, db=None, db_hash=None, digest=None)
    result, found = scored(builder)
    assert (found.passed, found.cause, result.outcome.cause) == (None, Cause.TRANSPORT, Cause.TRANSPORT)
    assert scored(builder, "reference")[1].passed is False


def test_hash_that_confirms_the_shadow_is_enough() -> None:
    builder = state_builder().call_tool(AGENT, "set_price", item="A1", price=7.5).call_tool(USER, "pay").hang_up()
    assert scored(builder.change(SummaryPulled, AGENT, db=None))[1].passed is True


def test_inaction_does_not_pass_where_gold_changes_nothing() -> None:
    result, found = scored(state_builder(reference_actions=()).hang_up())
    assert (found.passed, found.holds_initially) == (True, True)
    assert (result.outcome.kind, result.outcome.cause) == (OutcomeKind.NOT_EVALUABLE, Cause.HARNESS)
    assert result.is_task_successful is None


def test_damage_fails_where_gold_changes_nothing() -> None:
    result, _ = scored(state_builder(reference_actions=()).call_tool(USER, "pay").hang_up())
    assert result.outcome.kind is OutcomeKind.FAILED
