"""The fixtures, and how ids, owners and dates are found in them."""

from __future__ import annotations

import pytest

from duologue.errors import ToolRefusal
from duologue.state.canonical import contract_hash, digest
from duologue.state.side_state import SideState
from tools.tau2_telecom import db


def test_pristine_back_office_has_the_contract_hash(office: SideState) -> None:
    assert contract_hash(office.db) == "4833e8dc608e1b5ff53fbb6efc0222d0b1b7c8eb659a4afd9724094301160eb1"
    assert digest(office.db) == "6aadfbfad603c76a09b82b5fbe787988182cb7b459334c3c262d428133da5750"


def test_pristine_phone_has_the_contract_hash(phone: SideState) -> None:
    assert contract_hash(phone.db) == "5021b231bbb2d8dd3dbcc2d880da4321e8da83a55f31c2dd91c05fc7632d3e35"
    assert digest(phone.db) == "0a7d4eed7a5e2dad1eefabf5b01993703b5c0ef54c281d52cdfd148f0ce2462b"


def test_fixture_phone_stands_at_the_default_access_point(phone: SideState) -> None:
    assert phone.db is not None
    assert phone.db["device"]["active_apn_settings"] == db.ApnSettings().model_dump()


def test_an_id_that_occurs_twice_finds_the_older_entity(office: SideState) -> None:
    assert office.db is not None
    office.db["bills"].append({**office.db["bills"][0], "status": "Draft"})
    assert db.require(office.db, "bills", "B1001")["status"] == "Paid"


def test_a_line_of_someone_else_is_refused(office: SideState) -> None:
    with pytest.raises(ToolRefusal, match="does not belong"):
        db.require_owned_line(db.database(office), "C1001", "L1004")


def test_a_dangling_line_id_stops_only_a_strict_scan(office: SideState) -> None:
    found = db.database(office)
    found["customers"][0]["line_ids"].insert(0, "L7777")
    assert db.find_customer_by_phone(found, "555-123-2009", strict=False) is found["customers"][2]
    with pytest.raises(ToolRefusal, match="L7777"):
        db.find_customer_by_phone(found, "555-123-2009", strict=True)


def test_invented_bill_ids_count_up_past_those_in_use(office: SideState) -> None:
    found = db.database(office)
    assert db.free_bill_id(found) == "B00000001"
    found["customers"][0]["bill_ids"].append("B00000001")
    assert db.free_bill_id(found) == "B00000002"


def test_months_are_counted_from_the_fixed_today() -> None:
    assert [db.month_start(months).isoformat() for months in (-2, -1, 0, 1, 11)] == [
        "2024-12-01",
        "2025-01-01",
        "2025-02-01",
        "2025-03-01",
        "2026-01-01",
    ]
    assert db.month_end(0).isoformat() == "2025-02-28"
    assert db.month_end(10).isoformat() == "2025-12-31"


def test_the_other_sides_database_is_refused(office: SideState, phone: SideState) -> None:
    with pytest.raises(ToolRefusal, match="not a phone database"):
        db.phone_device(db.database(office))
    with pytest.raises(ToolRefusal, match="not a carrier database"):
        db.table(db.database(phone), "lines")


def test_an_unknown_profile_is_refused(phone: SideState) -> None:
    phone.profile = "tau3"
    with pytest.raises(ToolRefusal, match="use guide or tau2"):
        db.follows_upstream(phone)
