"""What a confused model can send: every tool answers, changes nothing unrecorded, and stays within JSON."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from duologue.records.action import Side
from duologue.state.canonical import canonical_text
from duologue.state.fixtures import load_db
from duologue.state.side_state import SideState
from duologue.toolkit.tool import Tool, find_tool, side_tools

DOMAIN = "tau2_telecom"
USUAL: dict[str, Any] = {
    "customer_id": "C1001",
    "line_id": "L1002",
    "bill_id": "B1002",
    "gb_amount": 2.0,
    "full_name": "John Smith",
    "dob": "1985-06-15",
    "id": "L1002",
    "phone_number": "555-123-2002",
    "app_name": "messaging",
    "permission": "sms",
    "mode": "4g_only",
    "apn_settings": {},
    "reason": "travel",
    "summary": "x",
}
JUNK: list[Any] = [
    *(None, True, False, 0, -1, 2, 2.0, 10**400, -(10**400), 1.7e308, 1e-320),
    *("", "2", "TRUE", "\x1b[31m\n", "ſms", "x" * 10_000),
    *([], ["C1001"], {}, {"customer_id": "C1001"}, {"apn_name": "internet", "mms_port": 10**400}),
]

NO_PORTS: tuple[object, ...] = ("http", 80.5, "80.5", [], "")
NO_SWITCHES: tuple[object, ...] = ("maybe", 2, None, [])


def hostile_calls() -> Iterator[tuple[Tool, dict[str, Any]]]:
    for side in Side:
        for tool in side_tools(DOMAIN, side).values():
            usual = {name: USUAL[name] for name in tool.properties if name in USUAL}
            yield tool, {**usual, "unexpected": 1}
            for name in tool.properties:
                yield tool, {key: value for key, value in usual.items() if key != name}
                yield from ((tool, {**usual, name: junk}) for junk in JUNK)


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["guide", "tau2"])
def test_no_argument_crashes_a_tool_or_spoils_its_database(profile: str) -> None:
    dbs = {Side.AGENT: load_db(f"{DOMAIN}/db"), Side.USER: load_db(f"{DOMAIN}/user_db")}
    for tool, arguments in hostile_calls():
        assert tool.side is not None
        state = SideState(DOMAIN, copy.deepcopy(dbs[tool.side]), profile=profile)
        outcome = tool.invoke(state, arguments)
        json.dumps([outcome.value, state.db, state.memory], allow_nan=False)
        is_changed = canonical_text(state.db) != canonical_text(dbs[tool.side])
        assert outcome.is_recorded or not is_changed, (tool.name, arguments)


@pytest.mark.parametrize("gb_amount", [1.7e308, 2e307, 10**400])
def test_more_data_than_a_number_holds_is_refused_unchanged(office: SideState, gb_amount: float) -> None:
    before = office.digest()
    outcome = find_tool(DOMAIN, "refuel_data").invoke(
        office, {"customer_id": "C1001", "line_id": "L1002", "gb_amount": gb_amount}
    )
    assert (outcome.ok, office.digest()) == (False, before)


def test_data_never_adds_up_to_infinity(office: SideState) -> None:
    for _ in range(5):
        find_tool(DOMAIN, "refuel_data").invoke(
            office, {"customer_id": "C1001", "line_id": "L1001", "gb_amount": 9e299}
        )
    json.dumps(office.db, allow_nan=False)


@pytest.mark.parametrize(("limit", "count"), [(None, 3), (True, 1), (False, 0), (-1, 2), (-9, 0), (10**30, 3)])
def test_limit_of_bills_is_a_slice(office: SideState, limit: Any, count: int) -> None:
    outcome = find_tool(DOMAIN, "get_bills_for_customer").invoke(office, {"customer_id": "C1001", "limit": limit})
    assert len(outcome.out) == count


@pytest.mark.parametrize("limit", ["2", 2.0, [], {}])
def test_limit_that_is_no_whole_number_is_an_error(office: SideState, limit: Any) -> None:
    outcome = find_tool(DOMAIN, "get_bills_for_customer").invoke(office, {"customer_id": "C1001", "limit": limit})
    assert outcome.error_type == "invalid_arguments"


@pytest.mark.parametrize(
    "wrong", [{"dob": None}, {"dob": 19850615}, {"full_name": None}, {"full_name": ["John Smith"]}]
)
def test_name_look_up_never_fails(office: SideState, wrong: dict[str, Any]) -> None:
    arguments = {"full_name": "John Smith", "dob": "1985-06-15", **wrong}
    outcome = find_tool(DOMAIN, "get_customer_by_name").invoke(office, arguments)
    assert (outcome.ok, outcome.out) == (True, [])


@pytest.mark.parametrize("app_name", [None, 7, True, ["messaging"], "Messaging", ""])
def test_an_app_is_known_by_its_exact_name_only(phone: SideState, app_name: Any) -> None:
    looked = find_tool(DOMAIN, "check_app_status").invoke(phone, {"app_name": app_name})
    granted = find_tool(DOMAIN, "grant_app_permission").invoke(phone, {"app_name": app_name, "permission": "sms"})
    assert (looked.out, granted.out, granted.is_recorded) == ({"found": False}, {"success": False}, False)


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ({"reset_at_reboot": 1}, True),
        ({"reset_at_reboot": 0}, False),
        *(({"reset_at_reboot": word}, True) for word in ("true", "YES", "On", "t", "y", "1")),
        *(({"reset_at_reboot": word}, False) for word in ("FALSE", "no", "off", "f", "n", "0")),
    ],
)
def test_apn_flags_are_taken_in_every_spelling(phone: SideState, given: dict[str, Any], stored: bool) -> None:
    assert find_tool(DOMAIN, "set_apn_settings").invoke(phone, {"apn_settings": given}).ok
    assert phone.db is not None
    assert phone.db["device"]["active_apn_settings"]["reset_at_reboot"] is stored


@pytest.mark.parametrize(("given", "stored"), [("8080", 8080), (8080.0, 8080), (8080, 8080), (None, None), (-1, -1)])
def test_apn_port_becomes_a_whole_number(phone: SideState, given: Any, stored: int | None) -> None:
    assert find_tool(DOMAIN, "set_apn_settings").invoke(phone, {"apn_settings": {"mms_port": given}}).ok
    assert phone.db is not None
    port = phone.db["device"]["active_apn_settings"]["mms_port"]
    assert (port, type(port)) == (stored, type(stored))


@pytest.mark.parametrize(
    "settings",
    [
        *(None, "internet", 5, ["internet"], True),
        *({"apn_name": value} for value in (None, "Internet", "custom", 1)),
        *({"mms_port": port} for port in NO_PORTS),
        *({"reset_at_reboot": reset} for reset in NO_SWITCHES),
        *({key: 7} for key in ("mms_apn", "mmsc_url", "mms_proxy")),
        {"mcc": "310"},
    ],
)
def test_ill_typed_apn_settings_change_nothing(phone: SideState, settings: Any) -> None:
    before = phone.digest()
    outcome = find_tool(DOMAIN, "set_apn_settings").invoke(phone, {"apn_settings": settings})
    assert (outcome.error_type, outcome.is_recorded, phone.digest()) == ("invalid_arguments", False, before)
