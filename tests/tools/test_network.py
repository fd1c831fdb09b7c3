"""Network, mobile data, speed, picture messages and status bar of the phone."""

from __future__ import annotations

from typing import Any

import pytest

from duologue.state.side_state import SideState
from tools.tau2_telecom import network


@pytest.fixture
def db(phone: SideState) -> dict[str, Any]:
    assert phone.db is not None
    return phone.db


def network_of(db: dict[str, Any]) -> tuple[str, str, str]:
    device = db["device"]
    keys = ("network_connection_status", "network_technology_connected", "network_signal_strength")
    return tuple(device[key] for key in keys)


@pytest.mark.parametrize(
    ("mode", "technology", "signal"),
    [
        ("4g_5g_preferred", "5G", "excellent"),
        ("4g_only", "4G", "good"),
        ("3g_only", "3G", "fair"),
        ("2g_only", "2G", "poor"),
    ],
)
def test_search_follows_the_preference(db: dict[str, Any], mode: str, technology: str, signal: str) -> None:
    db["device"]["network_mode_preference"] = mode
    network.derive_network(db)
    assert network_of(db) == ("connected", technology, signal)


@pytest.mark.parametrize("signals", [{"4G": "good", "5G": "none"}, {"4G": "good"}])
def test_search_falls_back_to_4g_without_a_5g_signal(db: dict[str, Any], signals: dict[str, str]) -> None:
    db["surroundings"]["signal_strength"] = signals
    network.derive_network(db)
    assert network_of(db) == ("connected", "4G", "good")


def test_search_stays_on_an_absent_only_technology(db: dict[str, Any]) -> None:
    db["device"]["network_mode_preference"] = "3g_only"
    del db["surroundings"]["signal_strength"]["3G"]
    network.derive_network(db)
    assert network_of(db) == ("connected", "3G", "none")


@pytest.mark.parametrize(
    ("part", "key", "value"),
    [
        ("device", "airplane_mode", True),
        ("device", "sim_card_missing", True),
        ("device", "sim_card_status", "locked_puk"),
        ("surroundings", "line_active", False),
    ],
)
def test_search_finds_no_service(db: dict[str, Any], part: str, key: str, value: Any) -> None:
    db[part][key] = value
    network.derive_network(db)
    assert network_of(db) == ("no_service", "none", "none")


def test_broken_access_point_gives_no_service(db: dict[str, Any]) -> None:
    db["device"]["active_apn_settings"]["apn_name"] = "broken"
    network.derive_network(db)
    assert network_of(db) == ("no_service", "none", "none")


@pytest.mark.parametrize(
    ("phone_roaming", "line_roaming", "works"),
    [(False, False, False), (True, False, False), (False, True, False), (True, True, True)],
)
def test_data_abroad_needs_both_roaming_switches(
    db: dict[str, Any], phone_roaming: bool, line_roaming: bool, works: bool
) -> None:
    db["surroundings"].update(is_abroad=True, roaming_allowed=line_roaming)
    db["device"]["roaming_enabled"] = phone_roaming
    assert network.mobile_data_works(db) is works


def test_searching_does_not_stop_data(db: dict[str, Any]) -> None:
    db["device"]["network_connection_status"] = "searching"
    assert network.mobile_data_works(db)


@pytest.mark.parametrize(
    ("technology", "signal", "saver", "poor_vpn", "expected"),
    [
        ("5G", "good", False, False, (220.0, "Excellent")),
        ("5G", "good", True, False, (44.0, "Good")),
        ("5G", "poor", False, False, (55.0, "Good")),
        ("2G", "good", False, False, (0.2, "Very Poor")),
        ("2G", "fair", False, False, (0.12, "Very Poor")),
        ("3G", "excellent", False, True, (0.3, "Very Poor")),
        ("4G", "fair", True, True, (0.55, "Very Poor")),
        ("5G", "excellent", True, True, (5.5, "Fair")),
    ],
)
def test_speed(
    db: dict[str, Any], technology: str, signal: str, saver: bool, poor_vpn: bool, expected: tuple[float, str]
) -> None:
    details = {"server_address": None, "protocol": None, "server_performance": "poor"}
    db["device"].update(
        network_technology_connected=technology,
        network_signal_strength=signal,
        data_saver_mode=saver,
        vpn_connected=poor_vpn,
        vpn_details=details,
    )
    assert network.measure_speed(db) == expected


def test_no_data_means_no_speed(db: dict[str, Any]) -> None:
    db["surroundings"]["mobile_data_usage_exceeded"] = True
    assert network.measure_speed(db) == (None, "No Connection")


@pytest.mark.parametrize(
    ("changes", "can_send"),
    [
        ({}, True),
        ({"network_technology_connected": "2G"}, False),
        ({"wifi_calling_enabled": True}, True),
        ({"wifi_calling_enabled": True, "wifi_calling_mms_over_wifi": True}, False),
        ({"data_enabled": False}, False),
        ({"app_statuses": {}}, False),
    ],
)
def test_picture_messages(db: dict[str, Any], changes: dict[str, Any], can_send: bool) -> None:
    db["device"].update(changes)
    assert network.can_send_mms(db) is can_send


@pytest.mark.parametrize(("url", "can_send"), [(None, False), ("", True)])
def test_picture_messages_need_an_address_even_an_empty_one(
    db: dict[str, Any], url: str | None, can_send: bool
) -> None:
    db["device"]["active_apn_settings"]["mmsc_url"] = url
    assert network.can_send_mms(db) is can_send


@pytest.mark.parametrize("permission", ["sms", "storage"])
def test_picture_messages_need_both_permissions(db: dict[str, Any], permission: str) -> None:
    db["device"]["app_statuses"]["messaging"]["permissions"][permission] = False
    assert not network.can_send_mms(db)


def test_status_bar_hides_the_network_in_airplane_mode(db: dict[str, Any]) -> None:
    db["device"].update(airplane_mode=True, data_saver_mode=True)
    assert network.render_status_bar(db) == "Status bar: airplane mode, battery 80 percent."


def test_status_bar_shows_data_disabled_without_a_technology(db: dict[str, Any]) -> None:
    db["surroundings"]["line_active"] = False
    network.derive_network(db)
    assert network.render_status_bar(db) == "Status bar: signal none, mobile data disabled, battery 80 percent."


def test_status_bar_lists_what_is_on(db: dict[str, Any]) -> None:
    db["device"].update(
        data_saver_mode=True, wifi_enabled=True, wifi_connected=True, wifi_ssid="Home", vpn_connected=True
    )
    assert network.render_status_bar(db) == (
        "Status bar: signal good, 5G, mobile data enabled, data saver on, Wi-Fi Home, VPN connected, "
        "battery 80 percent."
    )
