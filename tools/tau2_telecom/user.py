"""The user's fifteen phone actions: switches, repairs, settings, payment.

Each result ends with the status bar, so that whoever acts sees what came of it.
"""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from duologue.errors import InvalidArguments, ToolRefusal
from duologue.records.action import Side
from duologue.state.side_state import SideState
from duologue.toolkit.results import ToolResult
from duologue.toolkit.tool import write_tool
from tools.tau2_telecom import vpn
from tools.tau2_telecom.db import (
    DOMAIN,
    NETWORK_MODES,
    PERMISSIONS,
    ApnSettings,
    Entity,
    database,
    find_app,
    phone_device,
    surroundings,
)
from tools.tau2_telecom.network import derive_network, render_status_bar

_APN_SCHEMA = {
    "type": "object",
    "description": "The complete new settings; whatever is left out returns to the carrier's default.",
    "properties": {
        "apn_name": {"type": "string", "enum": ["internet", "broken"], "description": "Access point name."},
        "reset_at_reboot": {"type": "boolean", "description": "Return to the defaults at the next restart."},
        "mms_apn": {"type": ["string", "null"], "description": "Access point for picture messages."},
        "mmsc_url": {"type": ["string", "null"], "description": "Address of the picture message server (MMSC)."},
        "mms_proxy": {"type": ["string", "null"], "description": "Proxy for picture messages."},
        "mms_port": {"type": ["integer", "null"], "description": "Port of that proxy."},
    },
    "additionalProperties": False,
}


def _device(state: SideState) -> Entity:
    return phone_device(database(state))


def _result(state: SideState, out: dict[str, Any], text: str, *, changed: bool = True) -> ToolResult:
    return ToolResult(out, f"{text} {render_status_bar(database(state))}", changed=changed)


def _flip(state: SideState, switch: str, label: str, *, search: bool) -> ToolResult:
    device = _device(state)
    device[switch] = not device[switch]
    if search:
        derive_network(database(state))
    return _result(state, {"on": device[switch]}, f"{label} is now {'on' if device[switch] else 'off'}.")


def drop_wifi_connection(device: Entity) -> None:
    """Clear the Wi-Fi connection; the Wi-Fi switch stays."""
    device["wifi_connected"] = False
    device["wifi_ssid"] = None
    device["wifi_signal_strength"] = "none"


# Switches


@write_tool(
    DOMAIN,
    Side.USER,
    "Flip airplane mode. Switching it on cuts all networks, Wi-Fi and VPN; switching it off searches the network.",
)
def toggle_airplane_mode(state: SideState) -> ToolResult:
    """Flip airplane mode and search the network."""
    device = _device(state)
    device["airplane_mode"] = not device["airplane_mode"]
    if device["airplane_mode"] or device["wifi_enabled"]:
        drop_wifi_connection(device)
    if device["airplane_mode"] and device["vpn_connected"]:
        vpn.disconnect(state)
    derive_network(database(state))
    is_on = device["airplane_mode"]
    return _result(state, {"on": is_on}, f"Airplane mode is now {'on' if is_on else 'off'}.")


@write_tool(DOMAIN, Side.USER, "Flip the mobile data switch: on if it was off, off if it was on.")
def toggle_data(state: SideState) -> ToolResult:
    """Flip mobile data and search the network."""
    return _flip(state, "data_enabled", "Mobile data", search=True)


@write_tool(DOMAIN, Side.USER, "Flip the phone's own data roaming switch, needed for mobile data abroad.")
def toggle_roaming(state: SideState) -> ToolResult:
    """Flip the phone's roaming switch and search the network."""
    return _flip(state, "roaming_enabled", "Data roaming", search=True)


@write_tool(DOMAIN, Side.USER, "Flip data saver mode, which slows mobile data down while it is on.")
def toggle_data_saver_mode(state: SideState) -> ToolResult:
    """Flip data saver mode."""
    return _flip(state, "data_saver_mode", "Data saver mode", search=False)


@write_tool(DOMAIN, Side.USER, "Flip the Wi-Fi switch. Not possible in airplane mode.")
def toggle_wifi(state: SideState) -> ToolResult:
    """Flip Wi-Fi; switching off ends its connection, switching on makes none."""
    device = _device(state)
    if device["airplane_mode"]:
        text = "Wi-Fi cannot be changed in airplane mode."
        return _result(state, {"on": None, "blocked": True}, text, changed=False)
    device["wifi_enabled"] = not device["wifi_enabled"]
    if not device["wifi_enabled"]:
        drop_wifi_connection(device)
    is_on = device["wifi_enabled"]
    return _result(state, {"on": is_on, "blocked": False}, f"Wi-Fi is now {'on' if is_on else 'off'}.")


@write_tool(DOMAIN, Side.USER, "Flip Wi-Fi calling, which carries calls and possibly picture messages over Wi-Fi.")
def toggle_wifi_calling(state: SideState) -> ToolResult:
    """Flip Wi-Fi calling."""
    return _flip(state, "wifi_calling_enabled", "Wi-Fi calling", search=False)


# Repairs


@write_tool(DOMAIN, Side.USER, "Take the SIM card out and put it back in. This does not unlock a locked card.")
def reseat_sim_card(state: SideState) -> ToolResult:
    """Seat the SIM card and search the network; refused, after that, when the card itself is missing."""
    device = _device(state)
    device["sim_card_missing"] = False
    derive_network(database(state))
    if device["sim_card_status"] == "missing":
        raise ToolRefusal("there is no SIM card to put back in")
    return _result(state, {"reseated": True}, "The SIM card is back in its slot.")


@write_tool(
    DOMAIN, Side.USER, "Restart the phone. Applies a pending reset of the APN settings and searches the network."
)
def reboot_device(state: SideState) -> ToolResult:
    """Restart: a pending APN reset takes effect, then the network is searched."""
    device = _device(state)
    is_reset = bool(device["active_apn_settings"]["reset_at_reboot"])
    if is_reset:
        device["active_apn_settings"] = ApnSettings().model_dump()
    derive_network(database(state))
    text = "The phone has restarted" + (" with the default APN settings." if is_reset else ".")
    return _result(state, {"apn_reset": is_reset}, text)


@write_tool(
    DOMAIN,
    Side.USER,
    "Ask the phone to return the APN settings to the carrier's defaults; takes effect at the next restart.",
)
def reset_apn_settings(state: SideState) -> ToolResult:
    """Mark the APN settings for reset at the next restart."""
    _device(state)["active_apn_settings"]["reset_at_reboot"] = True
    derive_network(database(state))
    return _result(state, {"pending_until_reboot": True}, "The APN settings will be reset when the phone restarts.")


# Settings


@write_tool(
    DOMAIN,
    Side.USER,
    "Choose which network types the phone may use.",
    {
        "mode": {
            "type": "string",
            "enum": list(NETWORK_MODES),
            "description": "4g_5g_preferred uses the fastest available; the others restrict the phone to one type.",
        }
    },
    lenient=True,
)
def set_network_mode_preference(state: SideState, mode: str) -> ToolResult:
    """Set the network mode and search the network; an unknown mode changes nothing."""
    if not isinstance(mode, str):
        raise InvalidArguments(f"mode must be one of {', '.join(NETWORK_MODES)}, not {mode!r}")
    if mode not in NETWORK_MODES:
        text = f"{mode!r} is not a network mode; choose one of {', '.join(NETWORK_MODES)}."
        return _result(state, {"accepted": False, "mode": None}, text, changed=False)
    _device(state)["network_mode_preference"] = mode
    derive_network(database(state))
    return _result(state, {"accepted": True, "mode": mode}, f"The network mode preference is now {mode}.")


@write_tool(
    DOMAIN,
    Side.USER,
    "Replace all access point (APN) settings at once.",
    {"apn_settings": _APN_SCHEMA},
    lenient=True,
)
def set_apn_settings(state: SideState, apn_settings: dict[str, Any]) -> ToolResult:
    """Replace the APN settings and search the network; ill-formed settings change nothing."""
    if not isinstance(apn_settings, dict):
        raise InvalidArguments(f"apn_settings must be an object, not {apn_settings!r}")
    try:
        settings = ApnSettings.model_validate(apn_settings).model_dump()
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors())
        raise InvalidArguments(f"apn_settings: {problems}") from error
    _device(state)["active_apn_settings"] = settings
    derive_network(database(state))
    return _result(state, {"apn_name": settings["apn_name"]}, f"The access point is now {settings['apn_name']}.")


@write_tool(
    DOMAIN,
    Side.USER,
    "Give an app a permission.",
    {
        "app_name": {"type": "string", "description": "Name of the app as listed, for example messaging."},
        "permission": {"type": "string", "enum": list(PERMISSIONS), "description": "What the app may use."},
    },
    lenient=True,
)
def grant_app_permission(state: SideState, app_name: str, permission: str) -> ToolResult:
    """Grant a permission; an unknown app or permission changes nothing."""
    if not set_app_permission(state, app_name, permission, True):
        text = f"There is no app {app_name!r} with a permission {permission!r}."
        return _result(state, {"success": False}, text, changed=False)
    return _result(state, {"success": True}, f"{app_name} may now use {permission.lower()}.")


def set_app_permission(state: SideState, app_name: str, permission: str, granted: bool) -> bool:
    """Set a permission, named in any letter case, and return whether app and permission exist.

    Raises:
        InvalidArguments: the permission of a known app is not text.
    """
    app = find_app(_device(state), app_name)
    if app is None:
        return False
    if not isinstance(permission, str):
        raise InvalidArguments(f"permission must be text, not {permission!r}")
    name = permission.lower()
    if name not in PERMISSIONS:
        return False
    app["permissions"][name] = granted
    return True


@write_tool(DOMAIN, Side.USER, "Link the phone to its VPN server, so that mobile data goes through it.")
def connect_vpn(state: SideState) -> ToolResult:
    """Connect the VPN unless it is connected; works without any network."""
    if _device(state)["vpn_connected"]:
        return ToolResult({"result": "already_connected"}, "The VPN is already connected.", changed=False)
    vpn.connect(state)
    return _result(state, {"result": "connected"}, "The VPN is now connected.")


@write_tool(DOMAIN, Side.USER, "Turn the phone's VPN connection off.")
def disconnect_vpn(state: SideState) -> ToolResult:
    """Disconnect the VPN if it is connected."""
    if not _device(state)["vpn_connected"]:
        return _result(state, {"result": "nothing_to_disconnect"}, "The VPN was not connected.", changed=False)
    vpn.disconnect(state)
    return _result(state, {"result": "disconnected"}, "The VPN is now disconnected.")


# Payment


@write_tool(DOMAIN, Side.USER, "Pay the bill that the carrier has asked for in its payment request.")
def make_payment(state: SideState) -> ToolResult:
    """Mark the open payment request as paid; the carrier settles it."""
    request = surroundings(database(state))["payment_request"]
    if request is None:
        return ToolResult({"paid": False}, "There is no payment request to pay.", changed=False)
    request["paid"] = True
    out = {"paid": True, "amount": request["amount_due"], "bill_id": request["bill_id"]}
    return ToolResult(out, f"Paid {request['amount_due']} US dollars for bill {request['bill_id']}.")
