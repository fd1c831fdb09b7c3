import pytest

from duologue.records.event import ExitRequested
from duologue.records.outcome import Cause, OutcomeKind, StopReason
from duologue.scoring.score import score_trace
from duologue.testing.builders import TraceBuilder
from tests.present import present
from tests.scoring.shop import AGENT, EXIT, USER, shop_scenario


def done() -> TraceBuilder:
    return TraceBuilder(shop_scenario()).call_tool(AGENT, "set_price", item="A1", price=7.5).call_tool(USER, "pay")


def test_timeout_fails_the_attempt_but_not_the_task() -> None:
    result = score_trace(done().end(StopReason.TIMEOUT).build(), None)
    assert (result.outcome.kind, result.is_task_successful) == (OutcomeKind.FAILED, True)
    assert present(result.verdict(EXIT)).evidence["found"] == "[TIMEOUT]"


def test_exit_that_nobody_asked_for_is_no_evidence() -> None:
    result = score_trace(done().end(StopReason.EXIT).build(), None)
    assert (result.outcome.kind, result.outcome.cause) == (OutcomeKind.NOT_EVALUABLE, Cause.HARNESS)


def test_exit_asked_for_by_the_user_is_not_the_agents() -> None:
    builder = done().add(ExitRequested(side=USER, text="Bye.")).end(StopReason.EXIT)
    assert present(score_trace(builder.build(), None).verdict(EXIT)).passed is None


@pytest.mark.parametrize("mode", [(), ("reference",)])
def test_clean_exit_alone_never_passes_exact_scoring(mode: tuple[str, ...]) -> None:
    scenario = shop_scenario(success_signals=(EXIT,), reference_actions=(), db_state_assertions=())
    result = score_trace(TraceBuilder(scenario).hang_up().build(), None, compat=mode)
    assert result.is_successful is (True if mode else None)
    assert result.is_task_successful is (True if mode else None)


@pytest.mark.parametrize(("mode", "kind"), [((), OutcomeKind.PASSED), (("reference",), OutcomeKind.FAILED)])
def test_caller_who_hangs_up_ends_the_call_in_order(mode: tuple[str, ...], kind: OutcomeKind) -> None:
    builder = done().add(ExitRequested(side=USER, text="Bye.")).end(StopReason.CALLER_DONE)
    assert score_trace(builder.build(), None, compat=mode).outcome.kind is kind


def test_caller_who_has_nothing_more_to_say_has_not_hung_up() -> None:
    assert present(score_trace(done().end(StopReason.CALLER_DONE).build(), None).verdict(EXIT)).passed is False
