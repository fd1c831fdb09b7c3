"""What can be asserted about the final databases: thirteen predicates, six of which the shipped tasks use.

Each takes one side's database. What cannot be decided (an unknown customer, a status that does not exist) is refused.
"""

from __future__ import annotations

from duologue.errors import InvalidArguments, ToolRefusal
from duologue.toolkit.rules import predicate
from tools.tau2_telecom import network
from tools.tau2_telecom.db import (
    CONNECTIONS,
    DOMAIN,
    Database,
    find,
    is_number,
    phone_device,
    require,
    require_owned_line,
    surroundings,
)

_GB_TOLERANCE = 1e-6


# The phone


@predicate(DOMAIN)
def assert_service_status(db: Database, expected_status: str) -> bool:
    """Whether the phone's connection has this status; a status that does not exist is refused."""
    if expected_status not in CONNECTIONS:
        raise InvalidArguments(f"expected_status must be one of {', '.join(CONNECTIONS)}, not {expected_status!r}")
    return bool(phone_device(db)["network_connection_status"] == expected_status)


@predicate(DOMAIN)
def assert_mobile_data_status(db: Database, expected_status: bool) -> bool:
    """Whether mobile data works (or, with false, does not)."""
    return network.mobile_data_works(db) == expected_status


@predicate(DOMAIN)
def assert_internet_speed(db: Database, expected_speed: float, expected_desc: str | None = None) -> bool:
    """Whether the speed reaches ``expected_speed`` Mbps and, if given, has this label in any letter case."""
    if not is_number(expected_speed):
        raise InvalidArguments(f"expected_speed must be a number of Mbps, not {expected_speed!r}")
    if expected_desc is not None and not isinstance(expected_desc, str):
        raise InvalidArguments(f"expected_desc must be text, not {expected_desc!r}")
    mbps, label = network.measure_speed(db)
    return (mbps or 0.0) >= expected_speed and (expected_desc is None or label.lower() == expected_desc.lower())


@predicate(DOMAIN)
def assert_internet_not_excellent(db: Database) -> bool:
    """Whether the speed label is anything but the best; true without a connection."""
    return network.measure_speed(db)[1] != network.EXCELLENT


@predicate(DOMAIN)
def assert_can_send_mms(db: Database, expected_status: bool) -> bool:
    """Whether picture messages go out (or, with false, do not)."""
    return network.can_send_mms(db) == expected_status


@predicate(DOMAIN)
def assert_airplane_mode_status(db: Database, expected_status: bool) -> bool:
    """Whether airplane mode is as expected."""
    return bool(phone_device(db)["airplane_mode"] == expected_status)


@predicate(DOMAIN)
def assert_mobile_roaming_status(db: Database, expected_status: bool) -> bool:
    """Whether the phone's own roaming switch is as expected."""
    return bool(phone_device(db)["roaming_enabled"] == expected_status)


@predicate(DOMAIN)
def assert_mobile_data_saver_mode_status(db: Database, expected_status: bool) -> bool:
    """Whether data saver mode is as expected."""
    return bool(phone_device(db)["data_saver_mode"] == expected_status)


@predicate(DOMAIN)
def assert_mobile_data_usage_exceeded(db: Database, expected_status: bool) -> bool:
    """Whether the phone has been told that its data is used up, as expected."""
    return bool(surroundings(db)["mobile_data_usage_exceeded"] == expected_status)


# The back office


@predicate(DOMAIN)
def assert_data_refueling_amount(db: Database, customer_id: str, line_id: str, expected_amount: float) -> bool:
    """Whether this much data, in GB, was added to a customer's line."""
    if not is_number(expected_amount):
        raise InvalidArguments(f"expected_amount must be a number of GB, not {expected_amount!r}")
    _, line = require_owned_line(db, customer_id, line_id)
    return bool(abs(line["data_refueling_gb"] - expected_amount) < _GB_TOLERANCE)


@predicate(DOMAIN)
def assert_line_status(db: Database, customer_id: str, line_id: str, expected_status: str) -> bool:
    """Whether a customer's line has this status."""
    _, line = require_owned_line(db, customer_id, line_id)
    return bool(line["status"] == expected_status)


@predicate(DOMAIN)
def assert_no_overdue_bill(db: Database, overdue_bill_id: str) -> bool:
    """Whether the bill is paid, or does not exist."""
    bill = find(db, "bills", overdue_bill_id)
    return bill is None or bill["status"] == "Paid"


@predicate(DOMAIN)
def assert_overdue_bill_exists(db: Database, customer_id: str, overdue_bill_id: str) -> bool:
    """True when the customer has this bill and it is overdue; everything else is refused."""
    customer = require(db, "customers", customer_id)
    if overdue_bill_id not in customer["bill_ids"]:
        raise ToolRefusal(f"bill {overdue_bill_id!r} does not belong to customer {customer_id!r}")
    status = require(db, "bills", overdue_bill_id)["status"]
    if status != "Overdue":
        raise ToolRefusal(f"bill {overdue_bill_id} is {status}, not Overdue")
    return True
