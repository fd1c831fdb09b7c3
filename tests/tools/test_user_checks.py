"""The user's phone checks."""

from __future__ import annotations

from typing import Any

import pytest

from duologue.records.action import Side
from duologue.state.side_state import SideState
from duologue.toolkit.tool import ToolKind, find_tool, side_tools

DOMAIN = "tau2_telecom"


def call(state: SideState, name: str, **arguments: Any) -> Any:
    return find_tool(DOMAIN, name).invoke(state, arguments)


def change(state: SideState, **values: Any) -> None:
    assert state.db is not None
    state.db["device"].update(values)


def test_no_check_changes_the_phone(phone: SideState) -> None:
    before = phone.digest()
    for tool in side_tools(DOMAIN, Side.USER).values():
        if tool.kind is ToolKind.READ:
            assert tool.invoke(phone, dict.fromkeys(tool.required, "messaging")).ok
    assert phone.digest() == before


def test_speed_test_reports_megabits_and_label(phone: SideState) -> None:
    assert call(phone, "run_speed_test").out == {"mbps": 220.0, "label": "Excellent"}


def test_speed_test_without_data_reports_no_connection(phone: SideState) -> None:
    change(phone, data_enabled=False)
    assert call(phone, "run_speed_test").value == {
        "message": "The speed test failed: no connection.",
        "mbps": None,
        "label": "No Connection",
    }


def test_network_status_names_the_wifi_only_when_connected(phone: SideState) -> None:
    assert "wifi_ssid" not in call(phone, "check_network_status").out
    change(phone, wifi_enabled=True, wifi_connected=True, wifi_ssid="Home")
    assert call(phone, "check_network_status").out["wifi_ssid"] == "Home"


@pytest.mark.parametrize(
    ("changes", "out"),
    [
        ({}, {"on": False}),
        ({"wifi_enabled": True}, {"on": True, "connected": False}),
        (
            {"wifi_enabled": True, "wifi_connected": True, "wifi_ssid": "Home", "wifi_signal_strength": "fair"},
            {"on": True, "connected": True, "ssid": "Home", "signal": "fair"},
        ),
    ],
)
def test_wifi_status(phone: SideState, changes: dict[str, Any], out: dict[str, Any]) -> None:
    change(phone, **changes)
    assert call(phone, "check_wifi_status").out == out


@pytest.mark.parametrize(
    ("changes", "out"),
    [
        ({}, {"state": "off"}),
        ({"vpn_enabled_setting": True}, {"state": "configured"}),
        ({"vpn_connected": True}, {"state": "connected", "details": None}),
    ],
)
def test_vpn_status(phone: SideState, changes: dict[str, Any], out: dict[str, Any]) -> None:
    change(phone, **changes)
    assert call(phone, "check_vpn_status").out == out


def test_an_empty_message_server_address_counts_as_not_set(phone: SideState) -> None:
    assert phone.db is not None
    phone.db["device"]["active_apn_settings"]["mmsc_url"] = ""
    assert call(phone, "check_apn_settings").out == {"apn_name": "internet", "mmsc_url": None}


@pytest.mark.parametrize("name", ["check_app_status", "check_app_permissions"])
def test_an_app_is_found_by_its_exact_name(phone: SideState, name: str) -> None:
    assert call(phone, name, app_name="browser").out == {"found": True, "granted": ["storage", "network"]}
    assert call(phone, name, app_name="Browser").out == {"found": False}


def test_a_payment_request_is_shown_without_its_mark(phone: SideState) -> None:
    assert call(phone, "check_payment_request").out == {"request": None}
    assert phone.db is not None
    phone.db["surroundings"]["payment_request"] = {"bill_id": "B1002", "amount_due": 150.0, "paid": False}
    assert call(phone, "check_payment_request").out == {"request": {"bill_id": "B1002", "amount_due": 150.0}}
