"""The agent's tools on the back office."""

from __future__ import annotations

from typing import Any

import pytest

from duologue.records.action import Side
from duologue.state.side_state import SideState
from duologue.toolkit.tool import ToolKind, find_tool, side_tools

DOMAIN = "tau2_telecom"
JOHN = {"customer_id": "C1001", "line_id": "L1002"}


def call(state: SideState, name: str, **arguments: Any) -> Any:
    return find_tool(DOMAIN, name).invoke(state, arguments)


def bill(state: SideState, bill_id: str) -> dict[str, Any]:
    assert state.db is not None
    return next(row for row in state.db["bills"] if row["bill_id"] == bill_id)


def line(state: SideState, line_id: str = "L1002") -> dict[str, Any]:
    assert state.db is not None
    return next(row for row in state.db["lines"] if row["line_id"] == line_id)


def test_the_surface_is_thirteen_tools() -> None:
    kinds = [tool.kind for tool in side_tools(DOMAIN, Side.AGENT).values()]
    assert [kinds.count(kind) for kind in ToolKind] == [6, 6, 1]


@pytest.mark.parametrize(("number", "customer"), [("555-123-2002", "C1001"), ("555-123-2005", "C1002")])
def test_customer_is_found_by_primary_number_or_line(office: SideState, number: str, customer: str) -> None:
    assert call(office, "get_customer_by_phone", phone_number=number).out["customer_id"] == customer


def test_phone_number_is_compared_exactly(office: SideState) -> None:
    outcome = call(office, "get_customer_by_phone", phone_number="5551232002")
    assert outcome.error_type == "tool_error"
    assert not outcome.is_recorded


@pytest.mark.parametrize(
    ("full_name", "dob", "found"),
    [("john SMITH", "1985-06-15", ["C1001"]), ("John Smith", "15/06/1985", []), ("John  Smith", "1985-06-15", [])],
)
def test_name_look_up_ignores_case_only(office: SideState, full_name: str, dob: str, found: list[str]) -> None:
    outcome = call(office, "get_customer_by_name", full_name=full_name, dob=dob)
    assert [customer["customer_id"] for customer in outcome.out] == found


@pytest.mark.parametrize("entity_id", ["L1002", "D1002", "B1002", "C1002", "P1002"])
def test_details_follow_the_prefix(office: SideState, entity_id: str) -> None:
    assert entity_id in call(office, "get_details_by_id", id=entity_id).out.values()


@pytest.mark.parametrize("entity_id", ["", "l1002", "X1001", "L9999", 7, None])
def test_details_of_what_is_no_id_are_refused(office: SideState, entity_id: Any) -> None:
    assert not call(office, "get_details_by_id", id=entity_id).ok


@pytest.mark.parametrize(
    ("limit", "ids"),
    [(12, ["B1003", "B1002", "B1001"]), (1, ["B1003"]), (0, []), (-1, ["B1003", "B1002"])],
)
def test_bills_come_newest_first(office: SideState, limit: int, ids: list[str]) -> None:
    outcome = call(office, "get_bills_for_customer", customer_id="C1001", limit=limit)
    assert [row["bill_id"] for row in outcome.out] == ids


def test_an_argument_of_the_wrong_kind_is_refused(office: SideState) -> None:
    assert call(office, "get_bills_for_customer", customer_id="C1001", limit="3").error_type == "invalid_arguments"


@pytest.mark.parametrize("arguments", [{"customer_id": "C1001"}, {**JOHN, "unexpected": 1}])
def test_missing_and_unexpected_arguments_are_refused(office: SideState, arguments: dict[str, Any]) -> None:
    assert call(office, "resume_line", **arguments).error_type == "invalid_arguments"


def test_suspension_starts_on_the_fixed_today(office: SideState) -> None:
    outcome = call(office, "suspend_line", **JOHN, reason="travel")
    assert outcome.out["line"]["suspension_start_date"] == "2025-02-25"
    assert line(office)["status"] == "Suspended"


def test_only_an_active_line_is_suspended(office: SideState) -> None:
    outcome = call(office, "suspend_line", customer_id="C1001", line_id="L1003", reason="travel")
    assert not outcome.ok
    assert not outcome.is_recorded


@pytest.mark.parametrize("status", ["Suspended", "Pending Activation"])
def test_a_line_is_resumed_without_looking_at_bills(office: SideState, status: str) -> None:
    line(office)["status"] = status
    call(office, "resume_line", **JOHN)
    assert (line(office)["status"], line(office)["suspension_start_date"]) == ("Active", None)


@pytest.mark.parametrize("status", ["Active", "Closed"])
def test_an_active_or_closed_line_is_not_resumed(office: SideState, status: str) -> None:
    line(office)["status"] = status
    assert not call(office, "resume_line", **JOHN).ok


def test_roaming_that_is_on_already_leaves_no_record(office: SideState) -> None:
    outcome = call(office, "enable_roaming", **JOHN)
    assert outcome.out == {"changed": False}
    assert not outcome.is_recorded


def test_roaming_that_changes_is_recorded(office: SideState) -> None:
    outcome = call(office, "disable_roaming", **JOHN)
    assert outcome.out == {"changed": True}
    assert outcome.is_recorded
    assert line(office)["roaming_enabled"] is False


def test_any_bill_of_the_customer_can_be_requested(office: SideState) -> None:
    assert call(office, "send_payment_request", customer_id="C1001", bill_id="B1001").ok
    assert bill(office, "B1001")["status"] == "Awaiting Payment"


def test_one_bill_awaits_payment_at_a_time(office: SideState) -> None:
    call(office, "send_payment_request", customer_id="C1001", bill_id="B1002")
    assert not call(office, "send_payment_request", customer_id="C1001", bill_id="B1001").ok
    assert bill(office, "B1001")["status"] == "Paid"


def test_a_bill_of_someone_else_is_not_requested(office: SideState) -> None:
    assert not call(office, "send_payment_request", customer_id="C1001", bill_id="B1005").ok


def test_refuelling_is_charged_to_the_draft_bill(office: SideState) -> None:
    outcome = call(office, "refuel_data", **JOHN, gb_amount=2.0)
    assert outcome.out == {"new_data_refueling_gb": 2.0, "charge": 4.0}
    assert bill(office, "B1003")["total_due"] == 4.0
    assert bill(office, "B1003")["line_items"][0]["description"] == "Data refueling: 2.0 GB at $2.0/GB"


def test_a_whole_number_of_gigabytes_stays_whole_in_the_description(office: SideState) -> None:
    call(office, "refuel_data", **JOHN, gb_amount=2)
    assert bill(office, "B1003")["line_items"][0]["description"] == "Data refueling: 2 GB at $2.0/GB"


def test_refuelling_without_a_draft_bill_makes_next_months(office: SideState) -> None:
    call(office, "refuel_data", customer_id="C1003", line_id="L1009", gb_amount=0.5)
    made = bill(office, "B00000001")
    dates = [made[key] for key in ("period_start", "period_end", "issue_date", "due_date")]
    assert dates == ["2025-03-01", "2025-03-31", "2025-03-01", "2025-03-15"]
    assert (made["total_due"], made["status"], made["customer_id"]) == (1.0, "Draft", "C1003")
    assert office.db is not None
    assert office.db["customers"][2]["bill_ids"] == ["B1006", "B00000001"]


@pytest.mark.parametrize("gb_amount", [0, -1.0, "2 GB", None, True, float("nan"), float("inf")])
def test_refuelling_needs_a_positive_number(office: SideState, gb_amount: Any) -> None:
    before = office.digest()
    outcome = call(office, "refuel_data", **JOHN, gb_amount=gb_amount)
    assert not outcome.ok
    assert not outcome.is_recorded
    assert office.digest() == before


def test_refuelling_that_cannot_be_booked_is_undone_as_a_whole(office: SideState) -> None:
    assert office.db is not None
    office.db["customers"][0]["bill_ids"].append("B7777")
    before = office.digest()
    outcome = call(office, "refuel_data", **JOHN, gb_amount=2.0)
    assert not outcome.ok
    assert not outcome.is_recorded
    assert office.digest() == before


def test_usage_names_the_last_day_of_the_month(office: SideState) -> None:
    assert call(office, "get_data_usage", **JOHN).out == {
        "line_id": "L1002",
        "data_used_gb": 8.7,
        "data_limit_gb": 15.0,
        "data_refueling_gb": 0.0,
        "cycle_end_date": "2025-02-28",
    }


def test_a_result_does_not_change_with_later_writes(office: SideState) -> None:
    suspended = call(office, "suspend_line", **JOHN, reason="travel").out["line"]
    call(office, "resume_line", **JOHN)
    assert suspended["status"] == "Suspended"


def test_a_transfer_is_recorded_and_ends_the_call(office: SideState) -> None:
    outcome = call(office, "transfer_to_human_agents", summary="SIM locked")
    assert outcome.out == {"transferred": True}
    assert outcome.is_recorded
    assert find_tool(DOMAIN, "transfer_to_human_agents").exit_text == "Transfer complete."


def test_an_agent_tool_on_the_phone_is_refused(phone: SideState) -> None:
    assert call(phone, "resume_line", **JOHN).error_type == "tool_error"
