from typing import Any

from duologue.records.outcome import Cause, Verdict
from duologue.records.scenario import Scenario
from duologue.scoring.score import score_trace
from duologue.testing.builders import TraceBuilder
from tests.present import present
from tests.scoring.shop import ACTIONS, AGENT, EXIT, USER, shop_scenario, step


def verdict(builder: TraceBuilder, *, compat: tuple[str, ...] = ()) -> Verdict:
    found = score_trace(builder.build(), None, compat=compat).verdict(ACTIONS)
    assert found is not None
    return found


def gating_on(*steps: Any, **changes: Any) -> Scenario:
    return shop_scenario(reference_actions=steps, success_signals=(ACTIONS, EXIT), **changes)


def test_done_actions_pass_and_say_where() -> None:
    builder = TraceBuilder(gating_on(step("set_price", item="A1", price=7.5)))
    found = verdict(builder.call_tool(AGENT, "set_price", item="A1", price=7.5).hang_up())
    assert found.passed is True
    assert found.evidence["matched"] == {"set_price_0": 4}
    assert found.evidence["trace"] == [4]


def test_wrong_argument_fails_and_is_named() -> None:
    builder = TraceBuilder(gating_on(step("set_price", item="A1", price=7.5)))
    found = verdict(builder.call_tool(AGENT, "set_price", item="A1", price=7.50001).hang_up())
    assert (found.passed, found.evidence["missing"]) == (False, ["set_price_0"])
    assert found.evidence["found"][0]["arguments"]["price"] == 7.50001


def test_identifier_with_another_digit_count_fails() -> None:
    builder = TraceBuilder(gating_on(step("set_price", item="02134", price=2.0)))
    builder.dual.agent.database["items"]["2134"] = {"price": 1.0}
    assert verdict(builder.call_tool(AGENT, "set_price", item="2134", price=2.0).hang_up()).passed is False


def test_refused_write_does_not_count() -> None:
    builder = TraceBuilder(gating_on(step("set_price", item="A1", price=7.5)))
    assert verdict(builder.call_tool(AGENT, "set_price", item="Z9", price=7.5).hang_up()).passed is False


def test_default_argument_may_be_spelled_out() -> None:
    builder = TraceBuilder(gating_on(step("set_price", item="A1", price=7.5)))
    assert verdict(builder.call_tool(AGENT, "set_price", item="A1", price=7.5, note="").hang_up()).passed is True


def test_extra_argument_is_another_action() -> None:
    builder = TraceBuilder(gating_on(step("set_price", item="A1", price=7.5)))
    found = verdict(builder.call_tool(AGENT, "set_price", item="A1", price=7.5, note="cheap").hang_up())
    assert found.passed is False


def test_empty_compare_list_asks_for_the_name_only() -> None:
    builder = TraceBuilder(gating_on(step("hand_over", compare=(), summary="*")))
    assert verdict(builder.call_tool(AGENT, "hand_over", summary="anything").hang_up()).passed is True


def test_named_arguments_are_compared_alone() -> None:
    wanted = step("set_price", compare=("item",), item="A1", price=7.5)
    assert verdict(TraceBuilder(gating_on(wanted)).call_tool(AGENT, "set_price", item="A1", price=1.0).hang_up()).passed
    other = TraceBuilder(gating_on(wanted)).call_tool(AGENT, "set_price", item="02134", price=7.5).hang_up()
    assert verdict(other).passed is False


def test_loose_step_leaves_the_exact_record_to_the_strict_step() -> None:
    loose = step("set_price", compare=(), item="A1", price=1.0)
    strict = step("set_price", item="A1", price=7.5).model_copy(update={"action_id": "strict"})
    builder = TraceBuilder(gating_on(loose, strict)).call_tool(AGENT, "set_price", item="A1", price=7.5)
    assert verdict(builder.call_tool(AGENT, "set_price", item="A1", price=9.0).hang_up()).passed is True


def test_one_record_cannot_serve_two_steps() -> None:
    builder = TraceBuilder(gating_on(step("pay", USER), step("pay", USER)))
    assert verdict(builder.call_tool(USER, "pay").hang_up()).passed is False


def test_read_step_is_looked_for_among_the_calls() -> None:
    scenario = gating_on(step("get_price", item="A1"))
    assert verdict(TraceBuilder(scenario).hang_up()).passed is False
    assert verdict(TraceBuilder(scenario).call_tool(AGENT, "get_price", item="A1").hang_up()).passed is True


def test_read_that_the_tool_refused_was_not_done() -> None:
    builder = TraceBuilder(gating_on(step("get_price", item="A1")))
    del builder.dual.agent.database["items"]["A1"]
    assert verdict(builder.call_tool(AGENT, "get_price", item="A1").hang_up()).passed is False


def test_deed_of_the_other_side_does_not_count() -> None:
    scenario = gating_on(step("wave", USER))
    assert verdict(TraceBuilder(scenario).call_tool(AGENT, "wave").hang_up()).passed is False
    assert verdict(TraceBuilder(scenario).call_tool(USER, "wave").hang_up()).passed is True


def test_extra_writes_fail_only_under_strict_matching() -> None:
    wanted = step("pay", USER)
    for strict, expected in ((False, True), (True, False)):
        builder = TraceBuilder(gating_on(wanted, disallow_extra_items=strict)).call_tool(USER, "pay")
        found = verdict(builder.call_tool(AGENT, "set_price", item="A1", price=1.0).hang_up())
        assert found.passed is expected
        assert len(found.evidence["extra"]) == 1


def test_strict_matching_can_come_from_the_run() -> None:
    builder = TraceBuilder(gating_on(step("pay", USER)), settings={"strict_match": True}).call_tool(USER, "pay")
    assert verdict(builder.call_tool(AGENT, "set_price", item="A1", price=1.0).hang_up()).passed is False


def test_empty_reference_is_no_evidence() -> None:
    found = verdict(TraceBuilder(gating_on()).hang_up())
    assert (found.passed, found.evaluable, found.cause) == (None, False, Cause.HARNESS)


def test_empty_reference_under_strict_matching_forbids_writes_but_is_not_earned() -> None:
    scenario = gating_on(disallow_extra_items=True)
    quiet = score_trace(TraceBuilder(scenario).hang_up().build(), None)
    assert (present(quiet.verdict(ACTIONS)).passed, quiet.outcome.cause) == (True, Cause.HARNESS)
    assert verdict(TraceBuilder(scenario).call_tool(USER, "pay").hang_up()).passed is False


def test_broken_reference_is_not_evaluable() -> None:
    found = verdict(TraceBuilder(gating_on(step("set_price", item="Z9", price=1.0))).hang_up())
    assert (found.passed, found.cause) == (None, Cause.HARNESS)
    assert "no item Z9" in found.reason


def test_reference_mode_ignores_compare_args_and_compares_results() -> None:
    builder = TraceBuilder(gating_on(step("hand_over", compare=(), summary="*")))
    found = verdict(builder.call_tool(AGENT, "hand_over", summary="anything").hang_up(), compat=("reference",))
    assert found.passed is False


def test_reference_mode_takes_near_numbers_for_equal() -> None:
    builder = TraceBuilder(gating_on(step("set_price", item="A1", price=7.5)))
    builder.call_tool(AGENT, "set_price", item="A1", price=7.50001).hang_up()
    assert verdict(builder, compat=("reference",)).passed is True
