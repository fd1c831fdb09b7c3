"""Typed access to the two telecom databases: the carrier's back office and the customer's phone.

Both are plain JSON values. Look-ups scan in list order and the first hit wins, also where an id occurs twice.
All dates follow from :data:`TODAY`; nothing here reads a clock.
"""

from __future__ import annotations

import copy
import math
from datetime import date, timedelta
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from duologue.errors import ToolRefusal
from duologue.state.side_state import SideState

DOMAIN = "tau2_telecom"

GUIDE = "guide"
TAU2 = "tau2"
PROFILES = (GUIDE, TAU2)
"""Rule variants; a state without an explicit profile follows the first."""

TODAY = date(2025, 2, 25)

Entity = dict[str, Any]
Database = dict[str, Any]

ID_FIELDS = {
    "plans": "plan_id",
    "customers": "customer_id",
    "lines": "line_id",
    "bills": "bill_id",
    "devices": "device_id",
}

SIGNALS = ("none", "poor", "fair", "good", "excellent")
CONNECTIONS = ("connected", "searching", "no_service", "emergency_only")
NETWORK_MODES = ("4g_5g_preferred", "4g_only", "3g_only", "2g_only")
PERMISSIONS = ("sms", "storage", "phone", "network")


def follows_upstream(state: SideState) -> bool:
    """Return whether ``state`` obeys the ``tau2`` profile rather than ``guide``.

    Raises:
        ToolRefusal: the profile is neither.
    """
    if state.profile not in (*PROFILES, "default"):
        raise ToolRefusal(f"unknown profile {state.profile!r} of {DOMAIN}; use {' or '.join(PROFILES)}")
    return state.profile == TAU2


def database(state: SideState) -> Database:
    """Return the state's database.

    Raises:
        ToolRefusal: there is none.
    """
    if state.db is None:
        raise ToolRefusal("the database of this side is not initialized")
    return state.db


# The phone


class ApnSettings(BaseModel):
    """A phone's access point settings; omitted fields take the carrier's defaults."""

    model_config = ConfigDict(extra="forbid")

    apn_name: Literal["internet", "broken"] = "internet"
    reset_at_reboot: bool = False
    mms_apn: str | None = "mms"
    mmsc_url: str | None = "http://mms.carrier.com/mms/wapenc"
    mms_proxy: str | None = None
    mms_port: int | None = None


def phone_device(db: Database) -> Entity:
    """Return the phone itself.

    Raises:
        ToolRefusal: ``db`` is not a phone database.
    """
    return _part(db, "device")


def find_app(device: Entity, app_name: Any) -> Entity | None:
    """Return the app of exactly this name, or None."""
    return device["app_statuses"].get(app_name) if isinstance(app_name, str) else None


def surroundings(db: Database) -> Entity:
    """Return what surrounds the phone: place, signals, and what the carrier's line allows.

    Raises:
        ToolRefusal: ``db`` is not a phone database.
    """
    return _part(db, "surroundings")


def _part(db: Database, name: str) -> Entity:
    part = db.get(name)
    if not isinstance(part, dict):
        raise ToolRefusal(f"this is not a phone database: it has no {name!r}")
    return part


# The back office


def table(db: Database, name: str) -> list[Entity]:
    """Return one list of the back office.

    Raises:
        ToolRefusal: ``db`` is not a back office database.
    """
    rows = db.get(name)
    if not isinstance(rows, list):
        raise ToolRefusal(f"this is not a carrier database: it has no table {name!r}")
    return rows


def find(db: Database, name: str, entity_id: Any) -> Entity | None:
    """Return the first entity of table ``name`` with this id, or None."""
    key = ID_FIELDS[name]
    return next((row for row in table(db, name) if row[key] == entity_id), None)


def require(db: Database, name: str, entity_id: Any) -> Entity:
    """Return the first entity of table ``name`` with this id.

    Raises:
        ToolRefusal: there is none.
    """
    entity = find(db, name, entity_id)
    if entity is None:
        raise ToolRefusal(f"no {name.removesuffix('s')} with id {entity_id!r}")
    return entity


def require_owned_line(db: Database, customer_id: Any, line_id: Any) -> tuple[Entity, Entity]:
    """Return the customer and the line.

    Raises:
        ToolRefusal: either is unknown, or the line is not listed with the customer.
    """
    customer = require(db, "customers", customer_id)
    if line_id not in customer["line_ids"]:
        raise ToolRefusal(f"line {line_id!r} does not belong to customer {customer_id!r}")
    return customer, require(db, "lines", line_id)


def find_line_by_phone(db: Database, phone_number: Any) -> Entity | None:
    """Return the first line with this number, or None."""
    return next((line for line in table(db, "lines") if line["phone_number"] == phone_number), None)


def find_customer_by_phone(db: Database, phone_number: Any, *, strict: bool) -> Entity | None:
    """Return the first customer whose primary number, or else a line's number, is this one; None without a match.

    Args:
        db: the back office.
        phone_number: compared exactly.
        strict: refuse when the scan meets a line id that does not exist, instead of passing over it.

    Raises:
        ToolRefusal: see ``strict``.
    """
    for customer in table(db, "customers"):
        if customer["phone_number"] == phone_number:
            return customer
        for line_id in customer["line_ids"]:
            line = require(db, "lines", line_id) if strict else find(db, "lines", line_id)
            if line is not None and line["phone_number"] == phone_number:
                return customer
    return None


def customer_bills(db: Database, customer: Entity, *, strict: bool = True) -> list[Entity]:
    """Return all of a customer's bills in the customer's order.

    Raises:
        ToolRefusal: with ``strict``, when any listed bill does not exist; otherwise it is passed over.
    """
    if strict:
        return [require(db, "bills", bill_id) for bill_id in customer["bill_ids"]]
    found = (find(db, "bills", bill_id) for bill_id in customer["bill_ids"])
    return [bill for bill in found if bill is not None]


def add_bill(db: Database, customer: Entity, bill: Entity) -> None:
    """Append a bill and list it with its customer."""
    table(db, "bills").append(bill)
    customer["bill_ids"].append(bill["bill_id"])


def free_bill_id(db: Database) -> str:
    """Return the first unused id of the form ``B`` and eight lower-case hex digits, counted from one."""
    taken = {bill["bill_id"] for bill in table(db, "bills")}
    taken.update(bill_id for customer in table(db, "customers") for bill_id in customer["bill_ids"])
    number = 1
    while f"B{number:08x}" in taken:
        number += 1
    return f"B{number:08x}"


def is_number(value: Any) -> bool:
    """Return whether this is a JSON number that a database can hold: neither a boolean nor beyond a float."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def snapshot(value: Any) -> Any:
    """Return a copy of a database value that later writes do not touch."""
    return copy.deepcopy(value)


# Dates


def month_start(months_ahead: int) -> date:
    """Return the first day of the month that lies ``months_ahead`` months after today's."""
    index = TODAY.year * 12 + TODAY.month - 1 + months_ahead
    return date(index // 12, index % 12 + 1, 1)


def month_end(months_ahead: int) -> date:
    """Return the last day of that month."""
    return month_start(months_ahead + 1) - timedelta(days=1)


def after(day: date, days: int) -> str:
    """Return the ISO text of the day ``days`` later."""
    return (day + timedelta(days=days)).isoformat()
