"""What follows from a phone's state: network, mobile data, speed, picture messages, status bar."""

from __future__ import annotations

from typing import Any

from tools.tau2_telecom.db import Database, Entity, phone_device, surroundings

NO_CONNECTION = "No Connection"
EXCELLENT = "Excellent"

_SPEED_RANGE_MBPS = {"none": (0.0, 0.0), "2G": (0.1, 0.4), "3G": (1.0, 5.0), "4G": (10.0, 100.0), "5G": (50.0, 500.0)}
_SIGNAL_FACTOR = {"none": 0.0, "poor": 0.2, "fair": 0.5, "good": 0.8, "excellent": 1.0}
_POOR_VPN_FACTOR = 0.1
_DATA_SAVER_FACTOR = 0.2
_LABELS = ((1, "Very Poor"), (5, "Poor"), (25, "Fair"), (100, "Good"))
_ONLY_TECHNOLOGY = {"4g_only": "4G", "3g_only": "3G", "2g_only": "2G"}


def effective_sim_status(device: Entity) -> str:
    """Return the SIM status that counts: ``missing`` when the card is out, whatever its own status."""
    return "missing" if device["sim_card_missing"] else str(device["sim_card_status"])


def derive_network(db: Database) -> None:
    """Search the network: set the phone's connection, technology and signal from scratch."""
    device, place = phone_device(db), surroundings(db)
    blocked = (
        effective_sim_status(device) != "active"
        or device["airplane_mode"]
        or device["active_apn_settings"]["apn_name"] == "broken"
        or not place["line_active"]
    )
    if blocked:
        connection, technology, signal = "no_service", "none", "none"
    else:
        signals = place["signal_strength"]
        connection = "connected"
        technology = _chosen_technology(device["network_mode_preference"], signals)
        signal = signals.get(technology, "none")
    device["network_connection_status"] = connection
    device["network_technology_connected"] = technology
    device["network_signal_strength"] = signal


def _chosen_technology(mode: str, signals: dict[str, str]) -> str:
    if mode in _ONLY_TECHNOLOGY:
        return _ONLY_TECHNOLOGY[mode]
    return "4G" if signals.get("5G", "none") == "none" else "5G"


def mobile_data_works(db: Database) -> bool:
    """Return whether the phone can use mobile data; Wi-Fi plays no part."""
    device, place = phone_device(db), surroundings(db)
    return not (
        device["airplane_mode"]
        or device["network_signal_strength"] == "none"
        or device["network_connection_status"] == "no_service"
        or (place["is_abroad"] and not (device["roaming_enabled"] and place["roaming_allowed"]))
        or not device["data_enabled"]
        or place["mobile_data_usage_exceeded"]
    )


def measure_speed(db: Database) -> tuple[float | None, str]:
    """Return the mobile data speed in Mbps (None when data does not work) and its label."""
    if not mobile_data_works(db):
        return None, NO_CONNECTION
    device = phone_device(db)
    low, high = _SPEED_RANGE_MBPS[device["network_technology_connected"]]
    details = device["vpn_details"]
    slowed = device["vpn_connected"] and details is not None and details["server_performance"] == "poor"
    factor = _POOR_VPN_FACTOR if slowed else 1.0
    if device["data_saver_mode"]:
        factor *= _DATA_SAVER_FACTOR
    mbps = round((low + high) / 2 * _SIGNAL_FACTOR[device["network_signal_strength"]] * factor, 2)
    return mbps, next((label for limit, label in _LABELS if mbps < limit), EXCELLENT)


def can_send_mms(db: Database) -> bool:
    """Return whether a picture message would go out."""
    device = phone_device(db)
    app = device["app_statuses"].get("messaging")
    return bool(
        mobile_data_works(db)
        and device["network_technology_connected"] != "2G"
        and not (device["wifi_calling_enabled"] and device["wifi_calling_mms_over_wifi"])
        and device["active_apn_settings"]["mmsc_url"] is not None
        and app is not None
        and app["permissions"]["storage"]
        and app["permissions"]["sms"]
    )


def status_bar(db: Database) -> dict[str, Any]:
    """Return what the phone's status bar shows; cellular entries are None where nothing is shown."""
    device = phone_device(db)
    is_airplane = bool(device["airplane_mode"])
    technology = None if device["network_technology_connected"] == "none" else device["network_technology_connected"]
    is_data_shown = bool(not is_airplane and device["data_enabled"] and technology)
    has_wifi = device["wifi_enabled"] and device["wifi_connected"]
    return {
        "airplane": is_airplane,
        "signal": None if is_airplane else device["network_signal_strength"],
        "technology": None if is_airplane else technology,
        "data": None if is_airplane else ("enabled" if is_data_shown else "disabled"),
        "data_saver": bool(is_data_shown and device["data_saver_mode"]),
        "wifi": {"ssid": device["wifi_ssid"]} if has_wifi else None,
        "vpn": bool(device["vpn_connected"]),
        "battery": device["battery_level"],
    }


def render_status_bar(db: Database) -> str:
    """Return the status bar as one line of text."""
    bar = status_bar(db)
    if bar["airplane"]:
        items = ["airplane mode"]
    else:
        items = [f"signal {bar['signal']}"]
        if bar["technology"]:
            items.append(bar["technology"])
        items.append(f"mobile data {bar['data']}")
        if bar["data_saver"]:
            items.append("data saver on")
    if bar["wifi"]:
        ssid = bar["wifi"]["ssid"]
        items.append(f"Wi-Fi {ssid}" if ssid else "Wi-Fi connected")
    if bar["vpn"]:
        items.append("VPN connected")
    return "Status bar: " + ", ".join([*items, f"battery {bar['battery']} percent"]) + "."
