from typing import Any

import pytest

from duologue.records.action import Side
from duologue.records.event import (
    ActionApplied,
    CallEnded,
    DeltaPushed,
    Fault,
    FinalState,
    InitialState,
    StateChecked,
    SummaryPulled,
)
from duologue.records.outcome import Cause, Outcome, OutcomeKind, StopReason
from duologue.scoring.evidence import collect_evidence
from duologue.scoring.score import score_trace
from duologue.testing.builders import TraceBuilder
from duologue.toolkit.evidence import ScoringMode
from duologue.trace.reader import Trace
from tests.present import present
from tests.scoring.shop import AGENT, USER, shop_scenario


def done() -> TraceBuilder:
    builder = TraceBuilder(shop_scenario()).call_tool(AGENT, "set_price", item="A1", price=7.5)
    return builder.call_tool(USER, "pay")


def outcome(builder: TraceBuilder) -> Outcome:
    return score_trace(builder.build(), None).outcome


def cause(builder: TraceBuilder) -> Cause | None:
    found = outcome(builder)
    assert (found.kind is OutcomeKind.NOT_EVALUABLE) == (found.cause is not None)
    return found.cause


def test_undamaged_evidence_passes() -> None:
    assert outcome(done().hang_up()).kind is OutcomeKind.PASSED


@pytest.mark.parametrize("reason", list(Cause))
def test_fatal_fault_decides_with_its_cause(reason: Cause) -> None:
    builder = done().add(Fault(cause=reason, error="Boom", message="it broke")).hang_up()
    assert (cause(builder), outcome(builder).detail) == (reason, "Boom: it broke")


def test_harmless_fault_decides_nothing() -> None:
    builder = done().add(Fault(cause=Cause.TRANSPORT, error="Late", message="a late reply", fatal=False)).hang_up()
    assert outcome(builder).kind is OutcomeKind.PASSED


@pytest.mark.parametrize(
    ("stop", "expected"),
    [
        (StopReason.BOT_LOST, Cause.TRANSPORT),
        (StopReason.FAULT, Cause.HARNESS),
        (StopReason.INTERRUPTED, Cause.HARNESS),
        (StopReason.NOT_STARTED, Cause.HARNESS),
    ],
)
def test_call_that_did_not_end_by_itself_is_not_evaluable(stop: StopReason, expected: Cause) -> None:
    assert cause(done().end(stop)) is expected


def test_trace_without_an_end_is_incomplete() -> None:
    assert cause(done().hang_up().drop(CallEnded)) is Cause.HARNESS


def test_trace_without_a_final_state_is_incomplete() -> None:
    assert cause(done().hang_up().drop(FinalState)) is Cause.HARNESS


def test_torn_trace_is_incomplete() -> None:
    whole = done().hang_up().build()
    assert score_trace(Trace(whole.header, whole.events, is_torn=True), None).outcome.cause is Cause.HARNESS


def test_trace_without_an_initial_state_is_not_evaluable() -> None:
    assert cause(done().hang_up().drop(InitialState)) is Cause.HARNESS


@pytest.mark.parametrize("side", list(Side))
def test_missing_summary_is_a_transport_matter(side: Side) -> None:
    assert cause(done().hang_up().drop(SummaryPulled, side)) is Cause.TRANSPORT


def test_database_that_differs_from_its_shadow_is_a_sync_matter() -> None:
    builder = done().hang_up().change(SummaryPulled, USER, db={"paid": False}, digest=None, db_hash=None)
    assert cause(builder) is Cause.SYNC
    assert "paid: True != False" in outcome(builder).detail


def test_digest_that_differs_from_its_shadow_is_a_sync_matter() -> None:
    assert cause(done().hang_up().change(SummaryPulled, AGENT, digest="0" * 64)) is Cause.SYNC


def test_hash_alone_must_equal_the_shadow() -> None:
    builder = done().hang_up().change(SummaryPulled, AGENT, db=None, digest=None, db_hash="0" * 64)
    assert cause(builder) is Cause.SYNC


def test_number_form_and_null_spelling_are_no_difference_for_a_foreign_bot() -> None:
    items = {"A1": {"price": 7.5}, "02134": {"price": 1}}
    builder = done().hang_up().change(SummaryPulled, AGENT, db={"items": items}, digest=None)
    assert outcome(builder).kind is OutcomeKind.PASSED


@pytest.mark.parametrize(
    "actions", [(), ({"name": "set_price", "arguments": {"item": "A1", "price": 7.0}},), ({"name": "other"},)]
)
def test_action_log_that_differs_from_the_live_stream_is_a_sync_matter(actions: tuple[dict[str, Any], ...]) -> None:
    assert cause(done().hang_up().change(SummaryPulled, AGENT, actions=actions)) is Cause.SYNC


def test_push_that_was_not_accepted_is_no_evidence() -> None:
    assert cause(done().hang_up().change(ActionApplied, AGENT, accepted=False)) is Cause.SYNC


def test_write_that_was_dropped_is_not_among_the_actions() -> None:
    trace = done().change(ActionApplied, AGENT, accepted=False).hang_up().build()
    assert [item.action.name for item in collect_evidence(trace, ScoringMode.DUOLOGUE).actions] == ["pay"]


def test_unrepaired_difference_is_a_sync_matter_and_a_repaired_one_is_not() -> None:
    check = StateChecked(side=USER, bot_digest="a", shadow_digest="b", equal=False)
    assert cause(done().add(check).hang_up()) is Cause.SYNC
    assert cause(done().add(check).add(check.model_copy(update={"repaired": True})).hang_up()) is None


def test_refused_delta_is_a_sync_matter_unless_states_agreed_later() -> None:
    delta = DeltaPushed(side=USER, delta={"paid": True}, request_id="1", success=False, errors=("no",))
    agreed = StateChecked(side=USER, bot_digest="a", shadow_digest="a", equal=True)
    assert cause(done().add(agreed).add(delta).hang_up()) is Cause.SYNC
    assert cause(done().add(delta).add(agreed).hang_up()) is None


def test_final_state_without_a_shadow_leaves_the_report_alone() -> None:
    builder = done().hang_up().change(FinalState, agent_db=None, agent_digest=None)
    assert outcome(builder).kind is OutcomeKind.PASSED


@pytest.mark.parametrize("db", [{}, {"items": 5}, {"items": {"A1": None}}, {"items": [1]}])
def test_initial_state_that_no_tool_can_work_on_is_no_verdict(db: dict[str, Any]) -> None:
    builder = done().hang_up().change(InitialState, agent_db=db)
    verdict = present(score_trace(builder.build(), None).verdict("is_action_match"))
    assert (verdict.evaluable, verdict.cause) == (False, Cause.HARNESS)
