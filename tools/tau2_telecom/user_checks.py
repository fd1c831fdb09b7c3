"""The user's fifteen phone checks: what can be looked up on the phone, without changing it."""

from __future__ import annotations

from typing import Any

from duologue.records.action import Side
from duologue.state.side_state import SideState
from duologue.toolkit.results import ToolResult
from duologue.toolkit.tool import read_tool
from tools.tau2_telecom import network
from tools.tau2_telecom.db import DOMAIN, PERMISSIONS, Entity, database, find_app, phone_device, snapshot, surroundings

_APP_NAME = {"app_name": {"type": "string", "description": "Name of the app as listed, for example messaging."}}


def _device(state: SideState) -> Entity:
    return phone_device(database(state))


def _on_off(flag: bool) -> str:
    return "on" if flag else "off"


# Network


@read_tool(
    DOMAIN,
    Side.USER,
    "Look at the status bar at the top of the phone: airplane mode, signal, network type, mobile data, data saver, "
    "Wi-Fi, VPN and battery.",
)
def check_status_bar(state: SideState) -> ToolResult:
    """Return the items of the status bar."""
    db = database(state)
    return ToolResult(network.status_bar(db), network.render_status_bar(db))


@read_tool(
    DOMAIN,
    Side.USER,
    "Check the phone's connection in detail: airplane mode, SIM status, connection, signal, network type, the mobile "
    "data and data roaming switches, and Wi-Fi.",
)
def check_network_status(state: SideState) -> ToolResult:
    """Return connection and switches."""
    device = _device(state)
    out: dict[str, Any] = {
        "airplane_mode": device["airplane_mode"],
        "sim_status": network.effective_sim_status(device),
        "connection_status": device["network_connection_status"],
        "signal_strength": device["network_signal_strength"],
        "network_technology": device["network_technology_connected"],
        "mobile_data_enabled": device["data_enabled"],
        "data_roaming_enabled": device["roaming_enabled"],
        "wifi_enabled": device["wifi_enabled"],
        "wifi_connected": device["wifi_connected"],
    }
    if device["wifi_connected"]:
        out["wifi_ssid"] = device["wifi_ssid"]
    return ToolResult(out)


@read_tool(DOMAIN, Side.USER, "Check which network types the phone is set to use.")
def check_network_mode_preference(state: SideState) -> ToolResult:
    """Return the network mode preference."""
    mode = _device(state)["network_mode_preference"]
    return ToolResult({"mode": mode}, f"The network mode preference is {mode}.")


@read_tool(DOMAIN, Side.USER, "Run a speed test of the mobile data connection: megabits per second and a rating.")
def run_speed_test(state: SideState) -> ToolResult:
    """Return speed and label."""
    mbps, label = network.measure_speed(database(state))
    if mbps is None:
        return ToolResult({"mbps": None, "label": label}, "The speed test failed: no connection.")
    return ToolResult({"mbps": mbps, "label": label}, f"The speed is {mbps} megabits per second, which is {label}.")


@read_tool(DOMAIN, Side.USER, "Check the SIM card: active, missing, or locked by PIN or PUK.")
def check_sim_status(state: SideState) -> ToolResult:
    """Return the effective SIM status."""
    sim = network.effective_sim_status(_device(state))
    return ToolResult({"sim": sim}, f"The SIM card status is {sim}.")


@read_tool(DOMAIN, Side.USER, "Check whether data saver mode limits the use of mobile data.")
def check_data_restriction_status(state: SideState) -> ToolResult:
    """Return the data saver switch."""
    is_on = _device(state)["data_saver_mode"]
    return ToolResult({"data_saver": is_on}, f"Data saver mode is {_on_off(is_on)}.")


@read_tool(DOMAIN, Side.USER, "Check the access point (APN) settings: its name and the address for picture messages.")
def check_apn_settings(state: SideState) -> ToolResult:
    """Return APN name and MMSC address."""
    apn = _device(state)["active_apn_settings"]
    url = apn["mmsc_url"] or None
    message = f"The access point is {apn['apn_name']}; the MMSC address is {url or 'not set'}."
    return ToolResult({"apn_name": apn["apn_name"], "mmsc_url": url}, message)


# Wi-Fi and VPN


@read_tool(DOMAIN, Side.USER, "Check Wi-Fi: off, on without a connection, or connected with network name and signal.")
def check_wifi_status(state: SideState) -> ToolResult:
    """Return Wi-Fi switch and connection."""
    device = _device(state)
    if not device["wifi_enabled"]:
        return ToolResult({"on": False}, "Wi-Fi is off.")
    if not device["wifi_connected"]:
        return ToolResult({"on": True, "connected": False}, "Wi-Fi is on but not connected.")
    out = {"on": True, "connected": True, "ssid": device["wifi_ssid"], "signal": device["wifi_signal_strength"]}
    return ToolResult(out, f"Wi-Fi is connected to {device['wifi_ssid'] or 'a network'}.")


@read_tool(DOMAIN, Side.USER, "Check whether Wi-Fi calling is switched on.")
def check_wifi_calling_status(state: SideState) -> ToolResult:
    """Return the Wi-Fi calling switch."""
    is_on = _device(state)["wifi_calling_enabled"]
    return ToolResult({"on": is_on}, f"Wi-Fi calling is {_on_off(is_on)}.")


@read_tool(DOMAIN, Side.USER, "Check the VPN: connected with its server's details, set up but not connected, or off.")
def check_vpn_status(state: SideState) -> ToolResult:
    """Return VPN state, with details when connected."""
    device = _device(state)
    if device["vpn_connected"]:
        return ToolResult({"state": "connected", "details": snapshot(device["vpn_details"])}, "The VPN is connected.")
    if device["vpn_enabled_setting"]:
        return ToolResult({"state": "configured"}, "A VPN is set up but not connected.")
    return ToolResult({"state": "off"}, "The VPN is off.")


# Apps and messages


@read_tool(DOMAIN, Side.USER, "List the apps on the phone that can be inspected.")
def check_installed_apps(state: SideState) -> ToolResult:
    """Return app names."""
    apps = list(_device(state)["app_statuses"])
    return ToolResult({"apps": apps}, f"Installed apps: {', '.join(apps) or 'none'}.")


@read_tool(
    DOMAIN, Side.USER, "Check one app: whether it is installed and which permissions it has.", _APP_NAME, lenient=True
)
def check_app_status(state: SideState, app_name: str) -> ToolResult:
    """Return an app's granted permissions."""
    return _app_permissions(state, app_name)


@read_tool(DOMAIN, Side.USER, "Check which permissions one app has been granted.", _APP_NAME, lenient=True)
def check_app_permissions(state: SideState, app_name: str) -> ToolResult:
    """Return an app's granted permissions."""
    return _app_permissions(state, app_name)


def _app_permissions(state: SideState, app_name: str) -> ToolResult:
    app = find_app(_device(state), app_name)
    if app is None:
        return ToolResult({"found": False}, f"There is no app {app_name!r} on this phone.")
    granted = [name for name in PERMISSIONS if app["permissions"][name]]
    return ToolResult({"found": True, "granted": granted}, f"{app_name} may use: {', '.join(granted) or 'nothing'}.")


@read_tool(DOMAIN, Side.USER, "Try whether a picture message (MMS) can be sent from the messaging app.")
def can_send_mms(state: SideState) -> ToolResult:
    """Return whether picture messages go out."""
    can_send = network.can_send_mms(database(state))
    return ToolResult({"can_send": can_send}, f"A picture message can{'' if can_send else 'not'} be sent.")


# Payment


@read_tool(DOMAIN, Side.USER, "Check whether the carrier has asked for a payment: bill id and amount.")
def check_payment_request(state: SideState) -> ToolResult:
    """Return the open payment request."""
    request = surroundings(database(state))["payment_request"]
    if request is None:
        return ToolResult({"request": None}, "There is no payment request.")
    out = {"bill_id": request["bill_id"], "amount_due": request["amount_due"]}
    message = f"Payment of {request['amount_due']} US dollars for bill {request['bill_id']} is requested."
    return ToolResult({"request": out}, message)
