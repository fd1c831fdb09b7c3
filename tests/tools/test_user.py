"""The user's phone actions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from duologue.records.action import Side
from duologue.state.side_state import SideState
from duologue.toolkit.initialization import run_init_function
from duologue.toolkit.tool import ToolKind, find_tool, side_tools

DOMAIN = "tau2_telecom"
CARRIER_APN = {
    "apn_name": "internet",
    "reset_at_reboot": False,
    "mms_apn": "mms",
    "mmsc_url": "http://mms.carrier.com/mms/wapenc",
    "mms_proxy": None,
    "mms_port": None,
}


def call(state: SideState, name: str, **arguments: Any) -> Any:
    return find_tool(DOMAIN, name).invoke(state, arguments)


def device(state: SideState) -> dict[str, Any]:
    assert state.db is not None
    return dict(state.db["device"])


def change(state: SideState, **values: Any) -> None:
    assert state.db is not None
    state.db["device"].update(values)


def test_the_surface_is_thirty_tools() -> None:
    kinds = [tool.kind for tool in side_tools(DOMAIN, Side.USER).values()]
    assert [kinds.count(kind) for kind in ToolKind] == [15, 15, 0]


def test_every_action_says_what_the_status_bar_shows(phone: SideState) -> None:
    outcome = call(phone, "toggle_data")
    assert outcome.value == {
        "message": (
            "Mobile data is now off. Status bar: signal excellent, 5G, mobile data disabled, battery 80 percent."
        ),
        "on": False,
    }


def test_airplane_mode_cuts_wifi_and_vpn_and_keeps_the_wifi_switch(phone: SideState) -> None:
    change(phone, wifi_enabled=True, wifi_connected=True, wifi_ssid="Home", wifi_signal_strength="good")
    call(phone, "connect_vpn")
    call(phone, "toggle_airplane_mode")
    found = device(phone)
    assert (found["wifi_enabled"], found["wifi_connected"], found["wifi_ssid"]) == (True, False, None)
    assert (found["vpn_connected"], found["vpn_details"]) == (False, None)
    assert found["network_connection_status"] == "no_service"


def test_leaving_airplane_mode_finds_the_network_again(phone: SideState) -> None:
    call(phone, "toggle_airplane_mode")
    assert call(phone, "toggle_airplane_mode").out == {"on": False}
    assert device(phone)["network_signal_strength"] == "excellent"


def test_wifi_is_blocked_in_airplane_mode(phone: SideState) -> None:
    call(phone, "toggle_airplane_mode")
    outcome = call(phone, "toggle_wifi")
    assert outcome.out == {"on": None, "blocked": True}
    assert not outcome.is_recorded


@pytest.mark.parametrize(
    ("name", "arguments", "out"),
    [
        ("set_network_mode_preference", {"mode": "5g_only"}, {"accepted": False, "mode": None}),
        ("grant_app_permission", {"app_name": "camera", "permission": "sms"}, {"success": False}),
        ("grant_app_permission", {"app_name": "messaging", "permission": "location"}, {"success": False}),
        ("disconnect_vpn", {}, {"result": "nothing_to_disconnect"}),
        ("make_payment", {}, {"paid": False}),
    ],
)
def test_what_changes_nothing_succeeds_without_a_record(
    phone: SideState, name: str, arguments: dict[str, Any], out: dict[str, Any]
) -> None:
    before = phone.digest()
    outcome = call(phone, name, **arguments)
    assert (outcome.out, outcome.is_recorded, phone.digest()) == (out, False, before)


@pytest.mark.parametrize("mode", [None, 4, ["4g_only"]])
def test_a_mode_that_is_no_text_is_refused(phone: SideState, mode: Any) -> None:
    before = phone.digest()
    assert call(phone, "set_network_mode_preference", mode=mode).error_type == "invalid_arguments"
    assert phone.digest() == before


def test_reseating_makes_an_unlocked_card_work(phone: SideState) -> None:
    change(phone, sim_card_missing=True)
    call(phone, "reseat_sim_card")
    assert device(phone)["network_connection_status"] == "connected"


def test_reseating_does_not_unlock(phone: SideState) -> None:
    change(phone, sim_card_missing=True, sim_card_status="locked_pin")
    call(phone, "reseat_sim_card")
    assert call(phone, "check_sim_status").out == {"sim": "locked_pin"}


def test_a_refused_reseat_is_undone_as_a_whole(phone: SideState) -> None:
    change(phone, sim_card_missing=True, sim_card_status="missing")
    before = phone.digest()
    outcome = find_tool(DOMAIN, "reseat_sim_card").invoke(phone, {})
    assert (outcome.error_type, outcome.is_recorded) == ("tool_error", False)
    assert phone.digest() == before


def test_a_refused_reseat_that_changed_nothing_leaves_no_record(phone: SideState) -> None:
    change(phone, sim_card_status="missing")
    call(phone, "reseat_sim_card")
    assert not call(phone, "reseat_sim_card").is_recorded


def test_an_apn_reset_waits_for_the_restart(phone: SideState) -> None:
    call(phone, "set_apn_settings", apn_settings={"apn_name": "broken", "mms_port": 8080})
    call(phone, "reset_apn_settings")
    assert device(phone)["active_apn_settings"]["apn_name"] == "broken"
    assert call(phone, "reboot_device").out == {"apn_reset": True}
    assert device(phone)["active_apn_settings"] == CARRIER_APN
    assert device(phone)["network_connection_status"] == "connected"


def test_apn_settings_left_out_return_to_the_defaults(phone: SideState) -> None:
    call(phone, "reset_apn_settings")
    call(phone, "set_apn_settings", apn_settings={"mms_proxy": "10.0.0.1"})
    assert device(phone)["active_apn_settings"] == {**CARRIER_APN, "mms_proxy": "10.0.0.1"}


@pytest.mark.parametrize(
    ("given", "key", "stored"),
    [
        ({"reset_at_reboot": "yes"}, "reset_at_reboot", True),
        ({"reset_at_reboot": "OFF"}, "reset_at_reboot", False),
        ({"reset_at_reboot": 1}, "reset_at_reboot", True),
        ({"mms_port": "8080"}, "mms_port", 8080),
        ({"mms_port": 80.0}, "mms_port", 80),
        ({"mmsc_url": ""}, "mmsc_url", ""),
        ({"mms_apn": None}, "mms_apn", None),
    ],
)
def test_apn_settings_accept_lenient_spellings(
    phone: SideState, given: dict[str, Any], key: str, stored: object
) -> None:
    assert call(phone, "set_apn_settings", apn_settings=given).ok
    found = device(phone)["active_apn_settings"][key]
    assert (found, type(found)) == (stored, type(stored))


@pytest.mark.parametrize(
    "given",
    [
        {"mcc": "310"},
        {"apn_name": "Internet"},
        {"mms_port": 80.5},
        {"mms_port": "http"},
        {"mms_proxy": 7},
        {"reset_at_reboot": "maybe"},
        None,
        "internet",
        7,
        [],
    ],
)
def test_ill_formed_apn_settings_change_nothing(phone: SideState, given: Any) -> None:
    before = phone.digest()
    outcome = call(phone, "set_apn_settings", apn_settings=given)
    assert (outcome.error_type, outcome.is_recorded) == ("invalid_arguments", False)
    assert phone.digest() == before


def test_a_permission_is_granted_in_any_letter_case(phone: SideState) -> None:
    assert call(phone, "grant_app_permission", app_name="messaging", permission="NetWork").out == {"success": True}
    found = call(phone, "check_app_permissions", app_name="messaging").out
    assert found == {"found": True, "granted": ["sms", "storage", "phone", "network"]}


def test_the_permission_schema_lists_the_real_four() -> None:
    schema = find_tool(DOMAIN, "grant_app_permission").properties["permission"]
    assert schema["enum"] == ["sms", "storage", "phone", "network"]


def test_a_degraded_vpn_profile_is_fresh_again_in_the_guide_profile(phone: SideState) -> None:
    degrade_and_reconnect(phone)
    assert device(phone)["vpn_details"]["server_performance"] == "excellent"
    assert phone.memory == {}


def test_a_degraded_vpn_profile_sticks_in_the_tau2_profile(phone_in: Callable[[str], SideState]) -> None:
    phone = phone_in("tau2")
    degrade_and_reconnect(phone)
    assert device(phone)["vpn_details"]["server_performance"] == "poor"


def test_degrading_details_from_a_database_leaves_the_profile_alone(phone_in: Callable[[str], SideState]) -> None:
    phone = phone_in("tau2")
    own = {"server_address": "10.0.0.9", "protocol": "WireGuard", "server_performance": "good"}
    change(phone, vpn_connected=True, vpn_details=own)
    degrade_and_reconnect(phone)
    assert device(phone)["vpn_details"]["server_performance"] == "excellent"


def degrade_and_reconnect(phone: SideState) -> None:
    run_init_function(phone, "break_vpn", {})
    assert device(phone)["vpn_details"]["server_performance"] == "poor"
    call(phone, "disconnect_vpn")
    call(phone, "connect_vpn")


def test_connecting_twice_says_so_and_leaves_no_record(phone: SideState) -> None:
    assert call(phone, "connect_vpn").out == {"result": "connected"}
    again = call(phone, "connect_vpn")
    assert again.value == {"message": "The VPN is already connected.", "result": "already_connected"}
    assert not again.is_recorded


def test_paying_marks_the_request(phone: SideState) -> None:
    assert phone.db is not None
    phone.db["surroundings"]["payment_request"] = {"bill_id": "B1002", "amount_due": 150.0, "paid": False}
    assert call(phone, "make_payment").out == {"paid": True, "amount": 150.0, "bill_id": "B1002"}
    assert phone.db["surroundings"]["payment_request"]["paid"] is True


def test_a_user_tool_on_the_back_office_is_refused(office: SideState) -> None:
    assert call(office, "toggle_data").error_type == "tool_error"


def test_an_empty_database_is_an_error_of_its_own() -> None:
    assert call(SideState(DOMAIN), "toggle_data").error_type == "db_not_initialized"
