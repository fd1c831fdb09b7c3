"""Initialization functions, in both profiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from duologue.errors import InitializationFailed, RegistryError, ToolError
from duologue.records.action import InitAction, Side
from duologue.state.side_state import SideState
from duologue.toolkit.initialization import initialize, run_init_function
from duologue.toolkit.rules import INIT_FUNCTIONS

DOMAIN = "tau2_telecom"
JOHN = {"customer_id": "C1001", "line_id": "L1002"}
OVERDUE = {**JOHN, "new_bill_id": "B1234321", "contract_ended": False}


def device(state: SideState) -> dict[str, Any]:
    assert state.db is not None
    return dict(state.db["device"])


def change(state: SideState, **values: Any) -> None:
    assert state.db is not None
    state.db["device"].update(values)


@pytest.mark.parametrize(
    ("name", "arguments", "changed", "connection"),
    [
        ("turn_airplane_mode_on", {}, {"airplane_mode": True}, "no_service"),
        ("turn_data_off", {}, {"data_enabled": False}, "connected"),
        ("turn_data_saver_mode_on", {}, {"data_saver_mode": True}, "connected"),
        ("turn_roaming_on", {}, {"roaming_enabled": True}, "connected"),
        ("unseat_sim_card", {}, {"sim_card_missing": True}, "no_service"),
        ("lock_sim_card", {"mode": "puk"}, {"sim_card_status": "locked_puk"}, "no_service"),
        ("set_network_mode_preference", {"mode": "2g_only"}, {"network_mode_preference": "2g_only"}, "connected"),
    ],
)
def test_a_fault_and_its_effect_on_the_network(
    phone: SideState, name: str, arguments: dict[str, Any], changed: dict[str, Any], connection: str
) -> None:
    run_init_function(phone, name, arguments)
    assert {key: device(phone)[key] for key in changed} == changed
    assert device(phone)["network_connection_status"] == connection


def test_turning_data_on_does_not_search_the_network(phone: SideState) -> None:
    run_init_function(phone, "turn_data_on", {})
    assert device(phone)["network_signal_strength"] == "good"


def test_airplane_mode_that_is_off_already_still_cuts_the_vpn(phone: SideState) -> None:
    change(phone, vpn_connected=True)
    run_init_function(phone, "turn_airplane_mode_off", {})
    assert (device(phone)["airplane_mode"], device(phone)["vpn_connected"]) == (False, False)


def test_a_vpn_without_details_cannot_be_degraded(phone: SideState) -> None:
    change(phone, vpn_connected=True)
    with pytest.raises(ToolError, match="no details"):
        run_init_function(phone, "break_vpn", {})


def test_messages_over_wifi_keep_their_setting_unless_given(phone: SideState) -> None:
    run_init_function(phone, "set_wifi_calling", {"enabled": True, "mms_over_wifi": True})
    run_init_function(phone, "set_wifi_calling", {"enabled": False})
    assert (device(phone)["wifi_calling_enabled"], device(phone)["wifi_calling_mms_over_wifi"]) == (False, True)


@pytest.mark.parametrize(("permission", "success"), [("SMS", True), ("location", False)])
def test_removing_a_permission_says_whether_it_exists(phone: SideState, permission: str, success: bool) -> None:
    arguments = {"app_name": "messaging", "permission": permission}
    assert run_init_function(phone, "remove_app_permission", arguments) == {"success": success}
    assert device(phone)["app_statuses"]["messaging"]["permissions"]["sms"] is not success


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("set_network_mode_preference", {"mode": "5g_only"}),
        ("lock_sim_card", {"mode": "PIN"}),
    ],
)
def test_an_unknown_mode_is_refused_except_in_the_tau2_profile(
    phone: SideState, phone_in: Callable[[str], SideState], name: str, arguments: dict[str, Any]
) -> None:
    with pytest.raises(ToolError):
        run_init_function(phone, name, arguments)
    upstream = phone_in("tau2")
    run_init_function(upstream, name, arguments)
    assert device(upstream)["sim_card_status"] == "active"
    assert device(upstream)["network_mode_preference"] == "4g_5g_preferred"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("set_user_location", {"abroad": "yes"}),
        ("set_wifi_calling", {"enabled": 1}),
        ("set_wifi_calling", {"enabled": True, "mms_over_wifi": "no"}),
        ("set_user_info", {"name": "John Smith"}),
        ("set_user_info", {"name": "John Smith", "phone_number": 5551232002}),
    ],
)
def test_ill_typed_arguments_change_nothing(phone: SideState, name: str, arguments: dict[str, Any]) -> None:
    before = phone.digest()
    with pytest.raises(ToolError):
        run_init_function(phone, name, arguments)
    assert phone.digest() == before


@pytest.mark.parametrize(("contract_ended", "contract_end"), [(False, "2026-12-31"), (True, "2025-01-31")])
def test_suspension_for_an_overdue_bill(office: SideState, contract_ended: bool, contract_end: str) -> None:
    run_init_function(office, "suspend_line_for_overdue_bill", {**OVERDUE, "contract_ended": contract_ended})
    assert office.db is not None
    bill, line = office.db["bills"][-1], office.db["lines"][1]
    dates = [bill[key] for key in ("period_start", "period_end", "issue_date", "due_date")]
    assert dates == ["2025-01-01", "2025-01-31", "2025-01-01", "2025-01-15"]
    assert (bill["status"], bill["total_due"], office.db["customers"][0]["bill_ids"][-1]) == (
        "Overdue",
        65.0,
        "B1234321",
    )
    found = (line["status"], line["suspension_start_date"], line["contract_end_date"])
    assert found == ("Suspended", "2025-02-25", contract_end)


def test_a_customer_has_one_overdue_bill_at_most(office: SideState) -> None:
    with pytest.raises(ToolError, match="already has an overdue bill"):
        arguments = {"customer_id": "C1002", "line_id": "L1004", "new_bill_id": "B1234321", "contract_ended": False}
        run_init_function(office, "suspend_line_for_overdue_bill", arguments)


@pytest.mark.parametrize(("profile", "is_refused"), [("guide", True), ("tau2", False)])
def test_suspending_someone_elses_line_depends_on_the_profile(
    office: SideState, profile: str, is_refused: bool
) -> None:
    office.profile = profile
    arguments = {"customer_id": "C1003", "line_id": "L1002", "new_bill_id": "B1234321", "contract_ended": False}
    if is_refused:
        with pytest.raises(ToolError, match="does not belong"):
            run_init_function(office, "suspend_line_for_overdue_bill", arguments)
    else:
        run_init_function(office, "suspend_line_for_overdue_bill", arguments)
        assert office.db is not None
        assert office.db["customers"][2]["bill_ids"][-1] == "B1234321"


def test_every_tool_can_be_called_at_initialization(office: SideState) -> None:
    out = run_init_function(office, "refuel_data", {**JOHN, "gb_amount": 2.0})
    assert out == {"new_data_refueling_gb": 2.0, "charge": 4.0}
    assert {"toggle_data", "resume_line", "check_status_bar"} <= set(INIT_FUNCTIONS.names(DOMAIN))
    with pytest.raises(RegistryError):
        run_init_function(office, "transfer_to_nobody", {})


def test_initialization_is_all_or_nothing(office: SideState) -> None:
    before = office.digest()
    actions = [
        InitAction(side=Side.AGENT, func_name="disable_roaming", arguments=JOHN),
        InitAction(side=Side.AGENT, func_name="set_data_usage", arguments={**JOHN, "data_used_gb": "lots"}),
    ]
    with pytest.raises(InitializationFailed, match="set_data_usage"):
        initialize(office, {}, actions)
    assert office.digest() == before
