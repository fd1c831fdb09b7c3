"""What the back office and the phone learn of each other, and how a delta is applied."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import pytest

from duologue.errors import ToolError
from duologue.records.action import Side
from duologue.registry import load_domain
from duologue.state.fixtures import load_db
from duologue.state.side_state import SideState
from duologue.toolkit.dual_state import DualState
from duologue.toolkit.initialization import run_init_function
from duologue.toolkit.rules import RULES_NAME, SYNC_RULES, Deltas, SyncRefused
from duologue.toolkit.tool import side_tools

DOMAIN = "tau2_telecom"
JOHN = {"customer_id": "C1001", "line_id": "L1002"}
PROFILES = ["guide", "tau2"]
NO_SERVICE = "no_service"


@pytest.fixture(scope="session", autouse=True)
def _domain() -> None:
    load_domain(DOMAIN)


def build(profile: str, phone_number: str | None = "555-123-2002") -> DualState:
    agent = SideState(DOMAIN, load_db(f"{DOMAIN}/db"), profile=profile)
    user = SideState(DOMAIN, load_db(f"{DOMAIN}/user_db"), profile=profile)
    assert user.db is not None
    user.db["surroundings"].update(name="John Smith", phone_number=phone_number, roaming_allowed=True)
    return DualState(DOMAIN, agent, user)


def rows(dual: DualState, table: str) -> list[dict[str, Any]]:
    assert dual.agent.db is not None
    return list(dual.agent.db[table])


def place(dual: DualState) -> dict[str, Any]:
    return dict((dual.side(Side.USER).db or {})["surroundings"])


def connection(dual: DualState) -> str:
    return str((dual.side(Side.USER).db or {})["device"]["network_connection_status"])


def apply(state: SideState, delta: dict[str, Any]) -> None:
    SYNC_RULES.get(DOMAIN, RULES_NAME).apply(state, delta)


# Sync


@pytest.mark.parametrize("profile", PROFILES)
def test_a_phone_without_a_number_learns_nothing(profile: str) -> None:
    dual = build(profile, None)
    rows(dual, "lines")[1]["status"] = "Suspended"
    assert dual.sync() == Deltas()


@pytest.mark.parametrize("profile", PROFILES)
def test_the_phone_mirrors_its_line(profile: str) -> None:
    dual = build(profile)
    rows(dual, "lines")[1].update(status="Pending Activation", roaming_enabled=False, data_used_gb=15.0)
    deltas = dual.sync()
    assert deltas.agent == {}
    assert deltas.user == {
        "surroundings.line_active": False,
        "surroundings.roaming_allowed": False,
        "surroundings.mobile_data_usage_exceeded": True,
    }
    assert dual.sync() == Deltas()


@pytest.mark.parametrize(("used", "refuelled", "exceeded"), [(15.0, 0.0, True), (14.9, 0.0, False), (15.0, 0.5, False)])
def test_data_is_used_up_when_the_limit_is_reached(used: float, refuelled: float, exceeded: bool) -> None:
    dual = build("guide")
    rows(dual, "lines")[1].update(data_used_gb=used, data_refueling_gb=refuelled)
    dual.sync()
    assert place(dual)["mobile_data_usage_exceeded"] is exceeded


def test_in_the_guide_profile_the_phone_searches_at_once() -> None:
    dual = build("guide")
    dual.invoke(Side.AGENT, "suspend_line", {**JOHN, "reason": "travel"})
    dual.sync()
    assert connection(dual) == NO_SERVICE
    dual.invoke(Side.AGENT, "resume_line", JOHN)
    dual.sync()
    assert connection(dual) == "connected"


def test_in_the_tau2_profile_the_phone_waits_for_a_restart() -> None:
    dual = build("tau2")
    dual.invoke(Side.AGENT, "suspend_line", {**JOHN, "reason": "travel"})
    dual.sync()
    assert connection(dual) == "connected"
    dual.invoke(Side.USER, "reboot_device", {})
    assert connection(dual) == NO_SERVICE


@pytest.mark.parametrize("profile", PROFILES)
def test_a_payment_goes_round(profile: str) -> None:
    dual = build(profile)
    dual.invoke(Side.AGENT, "send_payment_request", {"customer_id": "C1001", "bill_id": "B1002"})
    request = {"bill_id": "B1002", "amount_due": 150.0, "paid": False}
    assert dual.sync().user == {"surroundings.payment_request": request}
    dual.invoke(Side.USER, "make_payment", {})
    deltas = dual.sync()
    assert deltas == Deltas({"bills[B1002].status": "Paid"}, {"surroundings.payment_request": None})
    assert rows(dual, "bills")[1]["status"] == "Paid"
    assert dual.sync() == Deltas()


@pytest.mark.parametrize("bill_id", ["B.1", "B[1]", "B 1 é", "B-2025/01", "B\n1"])
@pytest.mark.parametrize("profile", PROFILES)
def test_a_payment_goes_round_whatever_the_bill_is_called(profile: str, bill_id: str) -> None:
    dual = build(profile)
    arguments = {**JOHN, "new_bill_id": bill_id, "contract_ended": False}
    run_init_function(dual.agent, "suspend_line_for_overdue_bill", arguments)
    dual.invoke(Side.AGENT, "send_payment_request", {"customer_id": "C1001", "bill_id": bill_id})
    dual.sync()
    dual.invoke(Side.USER, "make_payment", {})
    assert f"bills[{bill_id}].status" in dual.sync().agent
    assert [row["status"] for row in rows(dual, "bills") if row["bill_id"] == bill_id] == ["Paid"]
    assert place(dual)["payment_request"] is None


@pytest.mark.parametrize("profile", PROFILES)
def test_the_next_awaiting_bill_surfaces_in_the_sync_that_settles_the_last(profile: str) -> None:
    dual = build(profile)
    for bill in rows(dual, "bills")[:2]:
        bill["status"] = "Awaiting Payment"
    dual.sync()
    dual.invoke(Side.USER, "make_payment", {})
    deltas = dual.sync()
    assert deltas.agent == {"bills[B1001].status": "Paid"}
    assert deltas.user["surroundings.payment_request"] == {"bill_id": "B1002", "amount_due": 150.0, "paid": False}


@pytest.mark.parametrize("profile", PROFILES)
def test_an_unpaid_request_is_never_withdrawn(profile: str) -> None:
    dual = build(profile)
    rows(dual, "bills")[1]["status"] = "Awaiting Payment"
    dual.sync()
    rows(dual, "bills")[1].update(status="Disputed", total_due=1.0)
    assert dual.sync() == Deltas()
    assert place(dual)["payment_request"]["amount_due"] == 150.0


def unknown_number(dual: DualState) -> None:
    assert dual.user is not None and dual.user.db is not None
    dual.user.db["surroundings"]["phone_number"] = "555-999-9999"


def unknown_plan(dual: DualState) -> None:
    rows(dual, "lines")[1].update(status="Suspended", plan_id="P9999")


def unknown_paid_bill(dual: DualState) -> None:
    assert dual.user is not None and dual.user.db is not None
    dual.user.db["surroundings"]["payment_request"] = {"bill_id": "B8888", "amount_due": 1.0, "paid": True}


def line_without_owner(dual: DualState) -> None:
    rows(dual, "customers")[0].update(phone_number="", line_ids=[])
    rows(dual, "lines")[1]["status"] = "Suspended"


@pytest.mark.parametrize(
    ("disturb", "settled"),
    [
        (unknown_number, {}),
        (unknown_plan, {"surroundings.line_active": False}),
        (unknown_paid_bill, {"surroundings.payment_request": None}),
        (line_without_owner, {"surroundings.line_active": False}),
    ],
)
def test_in_the_guide_profile_what_does_not_fit_is_left_alone(
    disturb: Callable[[DualState], None], settled: dict[str, Any]
) -> None:
    dual = build("guide")
    disturb(dual)
    assert dual.sync() == Deltas({}, settled)
    assert dual.sync() == Deltas()


@pytest.mark.parametrize(
    ("disturb", "settled"),
    [
        (unknown_number, {}),
        (unknown_plan, {"surroundings.line_active": False}),
        (unknown_paid_bill, {}),
        (line_without_owner, {"surroundings.line_active": False}),
    ],
)
def test_in_the_tau2_profile_what_does_not_fit_is_an_error_every_time(
    disturb: Callable[[DualState], None], settled: dict[str, Any]
) -> None:
    dual = build("tau2")
    disturb(dual)
    with pytest.raises(SyncRefused) as first:
        dual.sync()
    assert first.value.deltas == Deltas({}, settled)
    with pytest.raises(SyncRefused) as second:
        dual.sync()
    assert second.value.deltas == Deltas()


# Deltas


def test_a_delta_names_a_path_or_an_entity() -> None:
    dual = build("guide")
    apply(dual.agent, {"bills[B1002].status": "Paid", "lines[L1002].roaming_enabled": False})
    assert rows(dual, "bills")[1]["status"] == "Paid"
    assert rows(dual, "lines")[1]["roaming_enabled"] is False


@pytest.mark.parametrize(
    "path",
    [
        *("bills[B1002].colour", "bills[B1002]", "bills.status", "pets[P1].name", "bills[B1002", "plans[P1001].name.x"),
        *("", "bills[B1002].", ".bills", "bills..status", "bills[].status", "bills[B1002]x.status", "x" * 70_000 + "!"),
    ],
)
@pytest.mark.parametrize("profile", PROFILES)
def test_a_delta_that_does_not_fit_changes_nothing(profile: str, path: str) -> None:
    dual = build(profile)
    before = dual.agent.digest()
    with pytest.raises(ToolError):
        apply(dual.agent, {"bills[B1001].status": "Draft", path: "Paid"})
    assert dual.agent.digest() == before


def test_an_unknown_bill_is_passed_over_in_the_guide_profile_only() -> None:
    dual = build("guide")
    apply(dual.agent, {"bills[B9999].status": "Paid", "bills[B1002].status": "Paid"})
    assert rows(dual, "bills")[1]["status"] == "Paid"
    with pytest.raises(ToolError, match="B9999"):
        apply(build("tau2").agent, {"bills[B9999].status": "Paid"})


@pytest.mark.parametrize(("profile", "expected"), [("guide", NO_SERVICE), ("tau2", "connected")])
def test_a_change_of_the_surroundings_makes_the_phone_search(profile: str, expected: str) -> None:
    dual = build(profile)
    apply(dual.side(Side.USER), {"surroundings.line_active": False})
    assert connection(dual) == expected


def test_surroundings_without_a_phone_are_tolerated() -> None:
    state = SideState(DOMAIN, {"surroundings": {"line_active": True}}, profile="guide")
    apply(state, {"surroundings.line_active": False})
    assert state.db == {"surroundings": {"line_active": False}}


def test_a_delta_needs_a_database() -> None:
    with pytest.raises(ToolError, match="not initialized"):
        apply(SideState(DOMAIN, profile="guide"), {"surroundings.line_active": False})


def test_an_applied_value_is_a_copy() -> None:
    dual = build("guide")
    request = {"bill_id": "B1002", "amount_due": 150.0, "paid": False}
    apply(dual.side(Side.USER), {"surroundings.payment_request": request})
    dual.invoke(Side.USER, "make_payment", {})
    assert request["paid"] is False


# Random conversations

_POOL: dict[str, list[Any]] = {
    "customer_id": ["C1001", "C1002", "C9999"],
    "line_id": ["L1002", "L1002", "L1001", "L9999"],
    "bill_id": ["B1001", "B1002", "B1003", "B9999"],
    "id": ["L1002", "B1002", ""],
    "gb_amount": [2.0, 2, 0.1, 0, "2 GB"],
    "mode": ["4g_5g_preferred", "2g_only", "lte"],
    "app_name": ["messaging", "camera"],
    "permission": ["sms", "Storage", "location"],
    "apn_settings": [{}, {"apn_name": "broken"}, {"mcc": "310"}],
}


def random_call(rng: random.Random) -> tuple[Side, str, dict[str, Any]]:
    side = rng.choice(list(Side))
    tool = rng.choice(list(side_tools(DOMAIN, side).values()))
    arguments = {name: copy.deepcopy(rng.choice(_POOL.get(name, ["x"]))) for name in tool.required}
    return side, tool.name, arguments


def disturb(dual: DualState, rng: random.Random) -> None:
    """Begin somewhere else than at the fixture: a fault on the phone, a plan that does not exist."""
    for name in rng.sample(["break_vpn", "break_apn_settings", "unseat_sim_card", "turn_airplane_mode_on"], 2):
        run_init_function(dual.side(Side.USER), name, {})
    if rng.random() < 0.2:
        rows(dual, "lines")[1]["plan_id"] = "P9999"


def sync_or_refuse(dual: DualState) -> Deltas:
    try:
        return dual.sync()
    except SyncRefused as refusal:
        return refusal.deltas


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("seed", range(12))
def test_a_second_sync_changes_nothing(profile: str, seed: int) -> None:
    rng, dual = random.Random(seed), build(profile)
    disturb(dual, rng)
    for _ in range(40):
        dual.invoke(*random_call(rng))
        sync_or_refuse(dual)
        before = dual.digests()
        assert sync_or_refuse(dual) == Deltas()
        assert dual.digests() == before


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("seed", range(12))
def test_the_recorded_writes_alone_reach_the_same_state(profile: str, seed: int) -> None:
    rng, dual = random.Random(seed), build(profile)
    disturb(dual, rng)
    sync_or_refuse(dual)
    replayed = DualState(DOMAIN, dual.agent.copy(), dual.side(Side.USER).copy())
    for _ in range(60):
        side, name, arguments = random_call(rng)
        if dual.invoke(side, name, arguments).is_recorded:
            record = dual.ledgers[side].actions[-1]
            replayed.invoke(side, record.name, record.arguments)
            sync_or_refuse(replayed)
        sync_or_refuse(dual)
    assert dual.ledgers[Side.AGENT].actions and dual.ledgers[Side.USER].actions
    assert replayed.digests() == dual.digests()


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("seed", range(12))
def test_a_bot_that_gets_the_deltas_stays_equal_to_its_shadow(profile: str, seed: int) -> None:
    rng, shadow = random.Random(seed), build(profile)
    disturb(shadow, rng)
    bots = {side: shadow.side(side).copy() for side in Side}
    for _ in range(60):
        side, name, arguments = random_call(rng)
        shadow.invoke(side, name, arguments)
        side_tools(DOMAIN, side)[name].invoke(bots[side], arguments)
        deltas = sync_or_refuse(shadow)
        for party in Side:
            apply(bots[party], deltas.side(party))
        assert {party: bot.digest() for party, bot in bots.items()} == shadow.digests()
