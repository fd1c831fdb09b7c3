"""Predicates on the final databases."""

from __future__ import annotations

from typing import Any

import pytest

from duologue.errors import ToolError
from duologue.state.side_state import SideState
from duologue.toolkit.rules import PREDICATES

DOMAIN = "tau2_telecom"
JOHN = {"customer_id": "C1001", "line_id": "L1002"}


def check(state: SideState, name: str, **arguments: Any) -> bool:
    return PREDICATES.get(DOMAIN, name)(state.db, **arguments)


def change(state: SideState, **values: Any) -> None:
    assert state.db is not None
    state.db["device"].update(values)


def test_there_are_thirteen() -> None:
    assert len(PREDICATES.names(DOMAIN)) == 13


def test_service_status_must_be_one_that_exists(phone: SideState) -> None:
    assert check(phone, "assert_service_status", expected_status="connected")
    assert not check(phone, "assert_service_status", expected_status="no_service")
    with pytest.raises(ToolError, match="bogus"):
        check(phone, "assert_service_status", expected_status="bogus")


@pytest.mark.parametrize(
    ("speed", "label", "holds"),
    [
        (200, "excellent", True),
        (220.0, None, True),
        (221, None, False),
        (200, "Good", False),
        (0, "No Connection", False),
    ],
)
def test_speed_is_a_floor_and_a_label(phone: SideState, speed: float, label: str | None, holds: bool) -> None:
    assert check(phone, "assert_internet_speed", expected_speed=speed, expected_desc=label) is holds


def test_no_connection_is_a_label_at_speed_zero(phone: SideState) -> None:
    change(phone, data_enabled=False)
    assert check(phone, "assert_internet_speed", expected_speed=0, expected_desc="no connection")
    assert check(phone, "assert_internet_not_excellent")


@pytest.mark.parametrize(
    ("name", "flag"),
    [
        ("assert_airplane_mode_status", "airplane_mode"),
        ("assert_mobile_roaming_status", "roaming_enabled"),
        ("assert_mobile_data_saver_mode_status", "data_saver_mode"),
    ],
)
def test_a_switch_is_as_expected(phone: SideState, name: str, flag: str) -> None:
    assert check(phone, name, expected_status=False)
    change(phone, **{flag: True})
    assert check(phone, name, expected_status=True)


def test_data_and_messages(phone: SideState) -> None:
    change(phone, data_enabled=False)
    for name in ("assert_mobile_data_status", "assert_can_send_mms"):
        assert check(phone, name, expected_status=False)
        assert not check(phone, name, expected_status=True)


def test_refuelled_amount_has_a_small_tolerance(office: SideState) -> None:
    assert check(office, "assert_data_refueling_amount", **JOHN, expected_amount=1e-7)
    assert not check(office, "assert_data_refueling_amount", **JOHN, expected_amount=2.0)


def test_a_line_of_someone_else_cannot_be_decided(office: SideState) -> None:
    with pytest.raises(ToolError):
        check(office, "assert_data_refueling_amount", customer_id="C1001", line_id="L1004", expected_amount=0.0)
    with pytest.raises(ToolError):
        check(office, "assert_line_status", customer_id="C1001", line_id="L1004", expected_status="Active")


@pytest.mark.parametrize(("bill_id", "holds"), [("B9999", True), ("B1001", True), ("B1002", False), ("B1005", False)])
def test_no_overdue_bill_means_absent_or_paid(office: SideState, bill_id: str, holds: bool) -> None:
    assert check(office, "assert_no_overdue_bill", overdue_bill_id=bill_id) is holds


def test_an_overdue_bill_exists_or_is_refused(office: SideState) -> None:
    assert check(office, "assert_overdue_bill_exists", customer_id="C1002", overdue_bill_id="B1005")
    for customer_id, bill_id in [("C1001", "B1005"), ("C1001", "B1002"), ("C9999", "B1005")]:
        with pytest.raises(ToolError):
            check(office, "assert_overdue_bill_exists", customer_id=customer_id, overdue_bill_id=bill_id)


def test_the_other_sides_database_cannot_be_decided(office: SideState) -> None:
    with pytest.raises(ToolError):
        check(office, "assert_can_send_mms", expected_status=True)
