"""How a scenario's initial state is made: faults on the phone, facts in the back office.

The functions below, and every tool of the domain under its own name, can be called at initialization.
"""

from __future__ import annotations

from typing import Any

from duologue.errors import InvalidArguments, ToolRefusal
from duologue.state.side_state import SideState
from duologue.toolkit.rules import INIT_FUNCTIONS, InitFunction, init_function
from duologue.toolkit.tool import TOOLS, Tool
from tools.tau2_telecom import agent, user, user_checks, vpn
from tools.tau2_telecom.db import (
    DOMAIN,
    TODAY,
    Entity,
    add_bill,
    customer_bills,
    database,
    follows_upstream,
    is_number,
    month_end,
    month_start,
    phone_device,
    require,
    require_owned_line,
    surroundings,
)
from tools.tau2_telecom.network import derive_network

_LOCKS = {"pin": "locked_pin", "puk": "locked_puk"}
_BILL_DUE_DAY = 15


def _device(state: SideState) -> Entity:
    return phone_device(database(state))


def _require_bool(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise InvalidArguments(f"{name} must be true or false, not {value!r}")
    return value


def _set_switch(state: SideState, switch: str, is_on: bool, *, search: bool) -> None:
    _device(state)[switch] = is_on
    if search:
        derive_network(database(state))


# The phone: who and where


@init_function(DOMAIN)
def set_user_info(state: SideState, name: str | None, phone_number: str | None) -> None:
    """Say whose phone this is and which number it has."""
    for key, value in (("name", name), ("phone_number", phone_number)):
        if value is not None and not isinstance(value, str):
            raise InvalidArguments(f"{key} must be text, not {value!r}")
    place = surroundings(database(state))
    place["name"], place["phone_number"] = name, phone_number


@init_function(DOMAIN)
def set_user_location(state: SideState, abroad: bool) -> None:
    """Put the user abroad or at home."""
    surroundings(database(state))["is_abroad"] = _require_bool("abroad", abroad)


# The phone: network


@init_function(DOMAIN)
def set_network_mode_preference(state: SideState, mode: str) -> dict[str, Any]:
    """Set the network mode; an unknown one is refused, or ignored in the ``tau2`` profile."""
    result = user.set_network_mode_preference(state, mode)
    if not result.changed and not follows_upstream(state):
        raise ToolRefusal(result.message)
    return dict(result.out)


@init_function(DOMAIN)
def simulate_network_search(state: SideState) -> None:
    """Search the network."""
    derive_network(database(state))


@init_function(DOMAIN)
def turn_airplane_mode_on(state: SideState) -> None:
    """Switch airplane mode on; Wi-Fi and VPN connections end."""
    _turn_airplane_mode(state, True)


@init_function(DOMAIN)
def turn_airplane_mode_off(state: SideState) -> None:
    """Switch airplane mode off; when it was off already, the phone passes through airplane mode all the same."""
    _turn_airplane_mode(state, False)


def _turn_airplane_mode(state: SideState, is_on: bool) -> None:
    user.toggle_airplane_mode(state)
    if _device(state)["airplane_mode"] is not is_on:
        user.toggle_airplane_mode(state)


@init_function(DOMAIN)
def turn_data_on(state: SideState) -> None:
    """Switch mobile data on, without searching the network."""
    _set_switch(state, "data_enabled", True, search=False)


@init_function(DOMAIN)
def turn_data_off(state: SideState) -> None:
    """Switch mobile data off."""
    _set_switch(state, "data_enabled", False, search=True)


@init_function(DOMAIN)
def turn_data_saver_mode_on(state: SideState) -> None:
    """Switch data saver mode on."""
    _set_switch(state, "data_saver_mode", True, search=False)


@init_function(DOMAIN)
def turn_data_saver_mode_off(state: SideState) -> None:
    """Switch data saver mode off."""
    _set_switch(state, "data_saver_mode", False, search=False)


@init_function(DOMAIN)
def turn_roaming_on(state: SideState) -> None:
    """Switch the phone's roaming on."""
    _set_switch(state, "roaming_enabled", True, search=True)


@init_function(DOMAIN)
def turn_roaming_off(state: SideState) -> None:
    """Switch the phone's roaming off."""
    _set_switch(state, "roaming_enabled", False, search=True)


# The phone: faults


@init_function(DOMAIN)
def unseat_sim_card(state: SideState) -> None:
    """Take the SIM card out."""
    _set_switch(state, "sim_card_missing", True, search=True)


@init_function(DOMAIN)
def lock_sim_card(state: SideState, mode: str) -> None:
    """Lock the SIM card by ``pin`` or ``puk``; another mode is refused, or locks nothing in the ``tau2`` profile."""
    status = _LOCKS.get(mode) if isinstance(mode, str) else None
    if status is not None:
        _device(state)["sim_card_status"] = status
    elif not follows_upstream(state):
        raise InvalidArguments(f"mode must be pin or puk, not {mode!r}")
    derive_network(database(state))


@init_function(DOMAIN)
def break_apn_settings(state: SideState) -> None:
    """Spoil the access point, so that there is no service."""
    _device(state)["active_apn_settings"]["apn_name"] = "broken"
    derive_network(database(state))


@init_function(DOMAIN)
def break_apn_mms_setting(state: SideState) -> None:
    """Remove the address for picture messages."""
    _device(state)["active_apn_settings"]["mmsc_url"] = None


@init_function(DOMAIN)
def break_vpn(state: SideState) -> None:
    """Make the VPN slow, connecting it first when it is not connected."""
    if not _device(state)["vpn_connected"]:
        vpn.connect(state)
    vpn.degrade(state)


@init_function(DOMAIN)
def set_wifi_calling(state: SideState, enabled: bool, mms_over_wifi: bool | None = None) -> None:
    """Set Wi-Fi calling and, unless null, whether picture messages go over Wi-Fi."""
    _require_bool("enabled", enabled)
    if mms_over_wifi is not None:
        _require_bool("mms_over_wifi", mms_over_wifi)
    device = _device(state)
    device["wifi_calling_enabled"] = enabled
    if mms_over_wifi is not None:
        device["wifi_calling_mms_over_wifi"] = mms_over_wifi


@init_function(DOMAIN)
def remove_app_permission(state: SideState, app_name: str, permission: str) -> dict[str, Any]:
    """Take a permission from an app; an unknown app or permission changes nothing."""
    return {"success": user.set_app_permission(state, app_name, permission, False)}


# The back office


@init_function(DOMAIN)
def set_data_usage(state: SideState, customer_id: str, line_id: str, data_used_gb: float) -> None:
    """Say how many GB a line has used."""
    _, line = require_owned_line(database(state), customer_id, line_id)
    if not is_number(data_used_gb):
        raise InvalidArguments(f"data_used_gb must be a number of GB, not {data_used_gb!r}")
    line["data_used_gb"] = float(data_used_gb)


@init_function(DOMAIN)
def suspend_line_for_overdue_bill(
    state: SideState, customer_id: str, line_id: str, new_bill_id: str, contract_ended: bool
) -> None:
    """Add an overdue bill for last month and suspend the line, optionally with its contract ended.

    In the ``tau2`` profile the line need not belong to the customer.
    """
    _require_bool("contract_ended", contract_ended)
    if not isinstance(new_bill_id, str) or not new_bill_id:
        raise InvalidArguments(f"new_bill_id must be text, not {new_bill_id!r}")
    db = database(state)
    if not follows_upstream(state):
        require_owned_line(db, customer_id, line_id)
    line = require(db, "lines", line_id)
    if line["status"] != "Active":
        raise ToolRefusal(f"line {line_id} is {line['status']}; only an active line can be suspended")
    price = require(db, "plans", line["plan_id"])["price_per_month"]
    if price <= 0:
        raise ToolRefusal(f"plan {line['plan_id']} costs nothing, so no bill can be overdue")
    customer = require(db, "customers", customer_id)
    if any(bill["status"] == "Overdue" for bill in customer_bills(db, customer)):
        raise ToolRefusal(f"customer {customer_id} already has an overdue bill")
    add_bill(db, customer, _overdue_bill(new_bill_id, customer_id, line_id, price))
    line["status"] = "Suspended"
    line["suspension_start_date"] = TODAY.isoformat()
    if contract_ended:
        line["contract_end_date"] = month_end(-1).isoformat()


def _overdue_bill(bill_id: str, customer_id: str, line_id: str, price: float) -> Entity:
    issue_date = month_start(-1)
    item = {
        "description": f"Charge for line {line_id}",
        "amount": price,
        "date": TODAY.isoformat(),
        "item_type": "Charge",
    }
    return {
        "bill_id": bill_id,
        "customer_id": customer_id,
        "period_start": issue_date.isoformat(),
        "period_end": month_end(-1).isoformat(),
        "issue_date": issue_date.isoformat(),
        "total_due": price,
        "due_date": issue_date.replace(day=_BILL_DUE_DAY).isoformat(),
        "line_items": [item],
        "status": "Overdue",
    }


# Tools


def _from_tool(tool: Tool) -> InitFunction:
    def call(state: SideState, **arguments: Any) -> Any:
        outcome = tool.invoke(state, arguments)
        if not outcome.ok:
            raise ToolRefusal(str(outcome.value["message"]))
        return outcome.out

    return call


def _register_tools() -> None:
    modules = (agent.__name__, user.__name__, user_checks.__name__)
    for name, tool in TOOLS.items(DOMAIN):
        if tool.body.__module__ in modules and INIT_FUNCTIONS.find(DOMAIN, name) is None:
            INIT_FUNCTIONS.register(DOMAIN, name, _from_tool(tool), owner=__name__)


_register_tools()
