"""The agent's thirteen tools: the carrier's back office."""

from __future__ import annotations

from typing import Any

from duologue.errors import InvalidArguments, ToolRefusal
from duologue.records.action import Side
from duologue.state.side_state import SideState
from duologue.toolkit.results import ToolResult
from duologue.toolkit.tool import generic_tool, read_tool, write_tool
from tools.tau2_telecom.db import (
    DOMAIN,
    TODAY,
    Database,
    Entity,
    add_bill,
    after,
    customer_bills,
    database,
    find_customer_by_phone,
    free_bill_id,
    is_number,
    month_end,
    month_start,
    require,
    require_owned_line,
    snapshot,
    table,
)

_CUSTOMER_ID = {"type": "string", "description": "Customer id, for example C1001."}
_LINE_ID = {"type": "string", "description": "Id of one of this customer's lines, for example L1002."}
_OWNED_LINE = {"customer_id": _CUSTOMER_ID, "line_id": _LINE_ID}
_TABLE_OF_PREFIX = {"L": "lines", "D": "devices", "B": "bills", "C": "customers", "P": "plans"}
_PAYMENT_DAYS = 14
_MOST = 1e300
"""GB or dollars of one refuel; sums of them stay numbers."""


# Look-up


@read_tool(
    DOMAIN,
    Side.AGENT,
    "Find the customer who owns a phone number, primary number or line. Returns the customer's record.",
    {"phone_number": {"type": "string", "description": "The number as stored, for example 555-123-2002."}},
)
def get_customer_by_phone(state: SideState, phone_number: str) -> ToolResult:
    """Return the customer with this number."""
    customer = find_customer_by_phone(database(state), phone_number, strict=True)
    if customer is None:
        raise ToolRefusal(f"no customer with phone number {phone_number!r}")
    return ToolResult(snapshot(customer))


@read_tool(
    DOMAIN, Side.AGENT, "Fetch a customer's record by the customer id exactly as stored.", {"customer_id": _CUSTOMER_ID}
)
def get_customer_by_id(state: SideState, customer_id: str) -> ToolResult:
    """Return the customer with this id."""
    return ToolResult(snapshot(require(database(state), "customers", customer_id)))


@read_tool(
    DOMAIN,
    Side.AGENT,
    "Find customers by full name together with the date of birth, for callers who know neither number nor id. "
    "Returns a list, which is empty when nobody matches.",
    {
        "full_name": {"type": "string", "description": "First and last name; letter case does not matter."},
        "dob": {"type": "string", "description": "Date of birth as YYYY-MM-DD."},
    },
    lenient=True,
)
def get_customer_by_name(state: SideState, full_name: str, dob: str) -> ToolResult:
    """Return the customers with this name and date of birth."""
    wanted = full_name.lower() if isinstance(full_name, str) else full_name
    return ToolResult(
        [
            snapshot(customer)
            for customer in table(database(state), "customers")
            if customer["full_name"].lower() == wanted and customer["date_of_birth"] == dob
        ]
    )


@read_tool(
    DOMAIN,
    Side.AGENT,
    "Fetch any record by its id. The first letter names the kind: L line, D device, B bill, C customer, P plan.",
    {"id": {"type": "string", "description": "The id exactly as stored, for example L1002 or B1002."}},
)
def get_details_by_id(state: SideState, id: str) -> ToolResult:  # noqa: A002 - the argument name is part of the surface
    """Return the entity with this id."""
    kind = _TABLE_OF_PREFIX.get(id[:1]) if isinstance(id, str) else None
    if kind is None:
        raise ToolRefusal(f"{id!r} is not an id: it must begin with L, D, B, C or P")
    return ToolResult(snapshot(require(database(state), kind, id)))


# Billing


@read_tool(
    DOMAIN,
    Side.AGENT,
    "List a customer's bills, newest issue date first, with their status, amounts and items.",
    {
        "customer_id": _CUSTOMER_ID,
        "limit": {"type": "integer", "description": "How many bills to return at most (12 when left out)."},
    },
    lenient=True,
)
def get_bills_for_customer(state: SideState, customer_id: str, limit: int | None = 12) -> ToolResult:
    """Return the newest ``limit`` bills; a negative limit drops that many of the oldest, null returns all."""
    if limit is not None and not isinstance(limit, int):
        raise InvalidArguments(f"limit must be a whole number, not {limit!r}")
    db = database(state)
    bills = customer_bills(db, require(db, "customers", customer_id))
    newest_first = sorted(bills, key=lambda bill: str(bill["issue_date"]), reverse=True)
    return ToolResult(snapshot(newest_first[:limit]))


@write_tool(
    DOMAIN,
    Side.AGENT,
    "Send a customer a request to pay one bill; the bill then awaits payment and the request appears on the customer's "
    "phone. Check that the bill is overdue first. Refused while another bill of the customer awaits payment.",
    {
        "customer_id": _CUSTOMER_ID,
        "bill_id": {"type": "string", "description": "Id of one of this customer's bills, for example B1002."},
    },
)
def send_payment_request(state: SideState, customer_id: str, bill_id: str) -> ToolResult:
    """Set the bill to ``Awaiting Payment``, whatever its status was."""
    db = database(state)
    customer = require(db, "customers", customer_id)
    for bill in customer_bills(db, customer):
        if bill["status"] == "Awaiting Payment":
            raise ToolRefusal(f"bill {bill['bill_id']} of this customer already awaits payment")
    if bill_id not in customer["bill_ids"]:
        raise ToolRefusal(f"bill {bill_id!r} does not belong to customer {customer_id!r}")
    require(db, "bills", bill_id)["status"] = "Awaiting Payment"
    return ToolResult({"bill_id": bill_id}, f"Payment request for bill {bill_id} sent.")


# Line control


@write_tool(
    DOMAIN,
    Side.AGENT,
    "Put an active line on hold. While it is on hold, 5 US dollars a month are due.",
    {**_OWNED_LINE, "reason": {"type": "string", "description": "Why the line is put on hold."}},
)
def suspend_line(state: SideState, customer_id: str, line_id: str, reason: str) -> ToolResult:
    """Suspend an active line from today on; the reason is not stored."""
    _, line = require_owned_line(database(state), customer_id, line_id)
    if line["status"] != "Active":
        raise ToolRefusal(f"line {line_id} is {line['status']}; only an active line can be suspended")
    line["status"] = "Suspended"
    line["suspension_start_date"] = TODAY.isoformat()
    return ToolResult({"line": snapshot(line)}, "Line suspended; a holding fee of 5 US dollars a month applies.")


@write_tool(
    DOMAIN,
    Side.AGENT,
    "Bring a suspended or not yet activated line back into service. Only do so when no bill is overdue and the "
    "contract has not ended. The customer has to restart the phone afterwards.",
    _OWNED_LINE,
)
def resume_line(state: SideState, customer_id: str, line_id: str) -> ToolResult:
    """Activate a line; bills and contract are not checked."""
    _, line = require_owned_line(database(state), customer_id, line_id)
    if line["status"] not in ("Suspended", "Pending Activation"):
        raise ToolRefusal(f"line {line_id} is {line['status']}; only a suspended or pending line can be resumed")
    line["status"] = "Active"
    line["suspension_start_date"] = None
    return ToolResult({"line": snapshot(line)}, "Line resumed.")


@write_tool(DOMAIN, Side.AGENT, "Allow a line to use networks abroad, free of charge.", _OWNED_LINE)
def enable_roaming(state: SideState, customer_id: str, line_id: str) -> ToolResult:
    """Switch the line's roaming on."""
    return _set_roaming(state, customer_id, line_id, True)


@write_tool(DOMAIN, Side.AGENT, "Forbid a line to use networks abroad.", _OWNED_LINE)
def disable_roaming(state: SideState, customer_id: str, line_id: str) -> ToolResult:
    """Switch the line's roaming off."""
    return _set_roaming(state, customer_id, line_id, False)


def _set_roaming(state: SideState, customer_id: str, line_id: str, enabled: bool) -> ToolResult:
    _, line = require_owned_line(database(state), customer_id, line_id)
    word = "on" if enabled else "off"
    if bool(line["roaming_enabled"]) is enabled:
        return ToolResult({"changed": False}, f"Roaming was already {word} for this line.", changed=False)
    line["roaming_enabled"] = enabled
    return ToolResult({"changed": True}, f"Roaming is now {word} for this line.")


# Data


@read_tool(
    DOMAIN,
    Side.AGENT,
    "Show how much data a line has used in this cycle, its plan's limit, the data added to it and the last day of the "
    "cycle.",
    _OWNED_LINE,
)
def get_data_usage(state: SideState, customer_id: str, line_id: str) -> ToolResult:
    """Return usage, limit and refuelled data in GB."""
    db = database(state)
    _, line = require_owned_line(db, customer_id, line_id)
    plan = require(db, "plans", line["plan_id"])
    return ToolResult(
        {
            "line_id": line_id,
            "data_used_gb": line["data_used_gb"],
            "data_limit_gb": plan["data_limit_gb"],
            "data_refueling_gb": line["data_refueling_gb"],
            "cycle_end_date": month_end(0).isoformat(),
        }
    )


@write_tool(
    DOMAIN,
    Side.AGENT,
    "Add data to a line and charge it to the customer at the plan's price per GB. Agree amount and price with the "
    "customer first; at most 2 GB may be added.",
    {
        **_OWNED_LINE,
        "gb_amount": {"type": "number", "exclusiveMinimum": 0, "description": "How many GB to add."},
    },
)
def refuel_data(state: SideState, customer_id: str, line_id: str, gb_amount: float) -> ToolResult:
    """Add data and book its price on the customer's draft bill, which is created when there is none."""
    db = database(state)
    customer, line = require_owned_line(db, customer_id, line_id)
    if not is_number(gb_amount):
        raise InvalidArguments(f"gb_amount must be a number of GB, not {gb_amount!r}")
    if gb_amount <= 0:
        raise ToolRefusal(f"gb_amount must be more than 0, not {gb_amount!r}")
    price = require(db, "plans", line["plan_id"])["data_refueling_price_per_gb"]
    charge = gb_amount * price
    if max(gb_amount, charge) > _MOST:
        raise ToolRefusal(f"gb_amount {gb_amount!r} is more than any line can have")
    line["data_refueling_gb"] += gb_amount
    # The description is state: a whole number stays one.
    _book_charge(db, customer, charge, f"Data refueling: {gb_amount} GB at ${price}/GB")
    return ToolResult(
        {"new_data_refueling_gb": line["data_refueling_gb"], "charge": charge},
        f"{gb_amount} GB added for {charge:.2f} US dollars.",
    )


def _book_charge(db: Database, customer: Entity, charge: float, description: str) -> None:
    draft = next((bill for bill in customer_bills(db, customer) if bill["status"] == "Draft"), None)
    if draft is None:
        issue_date = month_start(1)
        draft = {
            "bill_id": free_bill_id(db),
            "customer_id": customer["customer_id"],
            "period_start": issue_date.isoformat(),
            "period_end": month_end(1).isoformat(),
            "issue_date": issue_date.isoformat(),
            "total_due": 0.0,
            "due_date": after(issue_date, _PAYMENT_DAYS),
            "line_items": [],
            "status": "Draft",
        }
        add_bill(db, customer, draft)
    item: dict[str, Any] = {
        "description": description,
        "amount": charge,
        "date": TODAY.isoformat(),
        "item_type": "Charge",
    }
    draft["line_items"].append(item)
    draft["total_due"] += charge


# Escalation


@generic_tool(
    DOMAIN,
    Side.AGENT,
    "Hand the caller over to a human colleague, which ends this call. Only when nothing else can solve the problem.",
    {"summary": {"type": "string", "description": "What the problem is and what has been tried."}},
    exit_text="Transfer complete.",
)
def transfer_to_human_agents(state: SideState, summary: str) -> ToolResult:
    """Acknowledge the transfer."""
    return ToolResult({"transferred": True}, "The caller is being transferred to a human colleague.")
