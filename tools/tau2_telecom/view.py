"""The customer's phone as its owner sees it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from duologue.records.action import Side
from duologue.state.side_state import SideState
from duologue.toolkit.view import side_view
from tools.tau2_telecom.db import DOMAIN, database

View = dict[str, dict[str, Any]]


@side_view(DOMAIN, Side.USER)
def show_phone(state: SideState) -> Mapping[str, Mapping[str, Any]]:
    """Return switches, signal, SIM card, apps and a payment request; nothing that only the carrier knows."""
    db = database(state)
    device: dict[str, Any] = db["device"]
    apn = device["active_apn_settings"]
    view: View = {
        "Status bar": {
            "Signal": device["network_signal_strength"],
            "Network": _network(device),
            "Airplane mode": device["airplane_mode"],
            "Mobile data": device["data_enabled"],
            "Data saver": device["data_saver_mode"],
            "VPN": device["vpn_connected"],
            "Battery": f"{device['battery_level']} %",
        },
        "Wi-Fi": {
            "Wi-Fi": device["wifi_enabled"],
            "Connected to": device["wifi_ssid"] if device["wifi_connected"] else None,
            "Wi-Fi calling": device["wifi_calling_enabled"],
        },
        "SIM and network": {
            "SIM card": "missing" if device["sim_card_missing"] else _words(device["sim_card_status"]),
            "Data roaming": device["roaming_enabled"],
            "Network mode": _mode(device["network_mode_preference"]),
        },
        "Access point": {
            "APN": apn["apn_name"],
            "For picture messages": apn["mms_apn"],
            "Reset at restart": apn["reset_at_reboot"],
        },
        "App permissions": {
            name: [permission for permission, is_given in app["permissions"].items() if is_given]
            for name, app in device["app_statuses"].items()
        },
    }
    request = db["surroundings"].get("payment_request")
    if request is not None:
        view["Payment request"] = {_words(key).capitalize(): value for key, value in request.items()}
    return view


def _network(device: Mapping[str, Any]) -> str:
    technology, connection = device["network_technology_connected"], device["network_connection_status"]
    return _words(connection) if technology == "none" else f"{technology}, {_words(connection)}"


def _mode(preference: str) -> str:
    technologies, _, rule = preference.rpartition("_")
    return f"{technologies.upper().replace('_', ' and ')} {rule}"


def _words(name: str) -> str:
    return name.replace("_", " ")
