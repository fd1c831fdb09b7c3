from typing import Any

import pytest

from duologue.bridge.reconcile import Reconciler, Write, build_reconciler, initial_payload, parse_write
from duologue.errors import InitializationFailed, ReconcileFailed
from duologue.records.action import Side
from duologue.state.side_state import SideState
from duologue.toolkit.rules import RULES_NAME, SYNC_RULES, Deltas, SyncRules, apply_dotted_delta
from tests.bridge.counter_shop import shop_scenario


def write(name: str, seq: int | None = 1, epoch: str | None = "e", **arguments: Any) -> Write:
    action = {"action_type": "write", "name": name, "arguments": arguments, "seq": seq, "epoch": epoch}
    return parse_write(Side.AGENT, {"action": action, "digest": "d"})


def shadows() -> Reconciler:
    return build_reconciler(shop_scenario(), "e")


def test_initial_digests_precede_the_first_sync() -> None:
    both = shadows()
    digests, deltas = both.first_pushes()
    assert digests[Side.AGENT] == both.shadow_digest(Side.AGENT)
    assert digests[Side.USER] != both.shadow_digest(Side.USER)
    assert deltas is not None and deltas.user == {"wallet.shop": "Corner"}


def test_shadow_does_not_change_the_scenario() -> None:
    scenario = shop_scenario()
    build_reconciler(scenario, "e").replay(write("request_payment"))
    assert scenario.agent.shared_state["db"]["order"]["status"] == "open"


def test_write_of_another_epoch_is_dropped() -> None:
    admission = shadows().admit(write("request_payment", epoch="old"))
    assert (admission.accepted, admission.fatal) == (False, False)


def test_gap_is_fatal() -> None:
    assert shadows().admit(write("request_payment", seq=2)).fatal


def test_repeat_is_dropped_and_a_changed_repeat_is_fatal() -> None:
    both = shadows()
    both.replay(write("write_remark", text="a"))
    same, changed = both.admit(write("write_remark", text="a")), both.admit(write("write_remark", text="b"))
    assert (same.accepted, same.fatal) == (False, False)
    assert changed.fatal


def test_write_without_a_number_is_next() -> None:
    assert shadows().admit(write("request_payment", seq=None, epoch=None)).accepted


@pytest.mark.parametrize("name", ["no_such_tool", "pay_bill"])
def test_write_that_the_side_cannot_do_is_refused(name: str) -> None:
    with pytest.raises(ReconcileFailed, match=name):
        shadows().replay(write(name))


def test_write_that_the_shadow_refuses_is_a_divergence() -> None:
    both = shadows()
    both.replay(write("request_payment"))
    with pytest.raises(ReconcileFailed, match="already asked"):
        both.replay(write("request_payment", seq=2))


def takes_a_coin(agent: SideState, user: SideState) -> Deltas:
    """Never settles: a bot that is told one run of it does not have what the shadow has after the next."""
    delta = {"wallet.coins": user.database["wallet"]["coins"] - 1}
    apply_dotted_delta(user, delta)
    return Deltas(user=delta)


SYNC_RULES.register("restless_shop", RULES_NAME, SyncRules(takes_a_coin, apply_dotted_delta), owner=__name__)


def test_sync_that_changes_something_again_is_refused() -> None:
    restless = shop_scenario(domain="restless_shop", initialization_actions=())
    with pytest.raises(ReconcileFailed, match="not idempotent: a second run changes"):
        build_reconciler(restless, "e").sync()


def test_sync_that_settles_is_returned_once() -> None:
    both = shadows()
    both.replay(write("request_payment"))
    assert both.sync().user == {"wallet.bill": "due"}
    assert not both.sync()


def test_full_push_holds_all_that_the_digest_covers() -> None:
    both = shadows()
    both.dual.agent.memory["seen"] = True
    full = both.full_state(Side.AGENT)
    assert SideState("counter_shop", full["db"], full["memory"]).digest() == both.shadow_digest(Side.AGENT)


def test_second_repair_of_a_side_is_refused() -> None:
    both = shadows()
    both.begin_repair(Side.USER)
    both.begin_repair(Side.AGENT)
    with pytest.raises(ReconcileFailed):
        both.begin_repair(Side.USER)


def test_log_is_compared_field_by_field() -> None:
    both = shadows()
    both.replay(write("write_remark", text="a"))
    logged = {"action_type": "write", "name": "write_remark", "arguments": {"text": "a"}, "seq": 1, "extra": 1}
    assert both.log_problem(Side.AGENT, (logged,)) == ""
    assert "'arguments'" in both.log_problem(Side.AGENT, ({**logged, "arguments": {}},))
    assert "0 writes, 1 were seen" in both.log_problem(Side.AGENT, ())


@pytest.mark.parametrize("data", [{}, {"action": []}, {"action": {"arguments": {}}}, {"action": {"name": 5}}])
def test_malformed_write_is_refused(data: dict[str, Any]) -> None:
    with pytest.raises(ReconcileFailed):
        parse_write(Side.AGENT, data)


def test_payload_holds_only_the_sides_own_actions() -> None:
    shared, actions = initial_payload(shop_scenario(), Side.USER, None)
    assert shared["profile"] == "default" and [action["func_name"] for action in actions] == ["set_coins"]
    assert initial_payload(shop_scenario(), Side.AGENT, None)[1] == []


def test_broken_scenario_is_an_initialization_failure() -> None:
    bad = {"side": Side.USER, "func_name": "set_coins", "arguments": {"amount": 1}}
    with pytest.raises(InitializationFailed, match="user side: set_coins"):
        build_reconciler(shop_scenario(initialization_actions=(bad,)), "e")
