"""What the caller says: reports of what its phone showed, its opening, its answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from duologue.toolkit.phrasebook import Arguments
from tools.tau2_telecom.spoken import amount, joined, spelled

_MODES = {
    "4g_5g_preferred": "four G and five G together",
    "4g_only": "four G alone",
    "3g_only": "three G alone",
    "2g_only": "two G alone",
}
_APPS = {"messaging": "messaging app", "browser": "browser"}
_PERMISSIONS = {"sms": "text messages", "storage": "the storage", "phone": "telephone calls", "network": "the network"}
_SIM = {
    "active": "is active",
    "missing": "is missing",
    "locked_pin": "is locked with a pin code",
    "locked_puk": "is locked with a puck code",
}
_UNFINISHED = "That did not work. My phone says: "

Report = Callable[[Arguments, dict[str, Any]], str]


def _on(value: Any) -> str:
    return "on" if value else "off"


def _technology(value: Any) -> str:
    return {"2G": "two G", "3G": "three G", "4G": "four G", "5G": "five G"}.get(str(value), "no network")


def _status_bar(arguments: Arguments, out: dict[str, Any]) -> str:
    if out["airplane"]:
        seen = ["the airplane symbol"]
    else:
        signal = f"{out['signal']} signal" if out["signal"] not in (None, "none") else "no signal"
        seen = [signal, _technology(out["technology"]), f"data {out['data']}"]
    seen += ["data saver"] if out["data_saver"] else []
    seen += ["Wi-Fi"] if out["wifi"] else []
    seen += ["a V P N"] if out["vpn"] else []
    return f"In the status bar I see {joined(seen)}."


def _network(arguments: Arguments, out: dict[str, Any]) -> str:
    connection = str(out["connection_status"]).replace("_", " ")
    return (
        f"The network overview says that airplane mode is {_on(out['airplane_mode'])}, the phone reports {connection},"
        f" the signal is {out['signal_strength']}, cellular data is {_on(out['mobile_data_enabled'])},"
        f" roaming is {_on(out['data_roaming_enabled'])}, and the SIM card {_SIM[out['sim_status']]}."
    )


def _speed(arguments: Arguments, out: dict[str, Any]) -> str:
    if out["mbps"] is None:
        return "The speed test failed. There is no connection."
    return f"The speed test shows {amount(out['mbps'])} megabits. It says {str(out['label']).lower()}."


def _apn(arguments: Arguments, out: dict[str, Any]) -> str:
    address = "set" if out["mmsc_url"] else "not set"
    return f"The access point name is {out['apn_name']}, and the address for picture messages is {address}."


def _wifi(arguments: Arguments, out: dict[str, Any]) -> str:
    if not out["on"]:
        return "I looked and Wi-Fi is switched off."
    return f"I looked and Wi-Fi is switched on, {'and connected' if out['connected'] else 'but not connected'}."


def _vpn(arguments: Arguments, out: dict[str, Any]) -> str:
    if out["state"] != "connected":
        return (
            f"I looked and the V P N is {'set up but not running' if out['state'] == 'configured' else 'not in use'}."
        )
    performance = (out["details"] or {}).get("server_performance", "unknown")
    return f"I looked and the V P N is in use, and its performance is {performance}."


def _app(arguments: Arguments, out: dict[str, Any]) -> str:
    app = _APPS.get(arguments["app_name"], str(arguments["app_name"]))
    granted = joined([_PERMISSIONS[name] for name in out.get("granted", [])]) if out["found"] else ""
    return f"The page of the {app} shows that it may use {granted or 'nothing'}."


def _permissions(arguments: Arguments, out: dict[str, Any]) -> str:
    app = _APPS.get(arguments["app_name"], str(arguments["app_name"]))
    granted = joined([_PERMISSIONS[name] for name in out.get("granted", [])]) if out["found"] else ""
    return f"The {app} has permission for {granted or 'nothing'}."


def _payment_request(arguments: Arguments, out: dict[str, Any]) -> str:
    request = out["request"]
    if not request:
        return "I looked for a payment request, but there is none."
    return f"I looked for a payment request and found one for {amount(request['amount_due'])} dollars."


def _wifi_switched(arguments: Arguments, out: dict[str, Any]) -> str:
    if out.get("blocked"):
        return "Wi-Fi can not be changed, because the phone is in airplane mode."
    return f"Wi-Fi is now {_on(out['on'])}."


def _mode_set(arguments: Arguments, out: dict[str, Any]) -> str:
    if not out["accepted"]:
        return f"{_UNFINISHED}it does not know that network type."
    return f"The network type is now {_MODES[out['mode']]}."


def _granted(arguments: Arguments, out: dict[str, Any]) -> str:
    app = _APPS.get(arguments["app_name"], str(arguments["app_name"]))
    if not out["success"]:
        return f"{_UNFINISHED}the {app} can not have that permission."
    return f"The {app} may now use {_PERMISSIONS[str(arguments['permission']).lower()]}."


def _paid(arguments: Arguments, out: dict[str, Any]) -> str:
    if not out["paid"]:
        return "There was no bill to pay. I see no payment request."
    return f"I paid the bill of {amount(out['amount'])} dollars."


_REPORTS: dict[str, Report] = {
    "check_status_bar": _status_bar,
    "check_network_status": _network,
    "check_network_mode_preference": lambda a, out: f"The selected network type is {_MODES[out['mode']]}.",
    "run_speed_test": _speed,
    "check_sim_status": lambda a, out: f"My phone says that the SIM card {_SIM[out['sim']]}.",
    "check_data_restriction_status": lambda a, out: f"I looked and data saver is {_on(out['data_saver'])}.",
    "check_apn_settings": _apn,
    "check_wifi_status": _wifi,
    "check_wifi_calling_status": lambda a, out: f"I looked and Wi-Fi calling is {_on(out['on'])}.",
    "check_vpn_status": _vpn,
    "check_installed_apps": lambda a, out: f"The installed apps are {joined([_APPS.get(n, n) for n in out['apps']])}.",
    "check_app_status": _app,
    "check_app_permissions": _permissions,
    "can_send_mms": lambda a, out: (
        f"I tried it and the picture message {'was sent successfully' if out['can_send'] else 'could not be sent'}."
    ),
    "check_payment_request": _payment_request,
    "toggle_airplane_mode": lambda a, out: f"Airplane mode is now {_on(out['on'])}.",
    "reseat_sim_card": lambda a, out: "I took the SIM card out and put it back.",
    "toggle_data": lambda a, out: f"Cellular data is now {_on(out['on'])}.",
    "toggle_roaming": lambda a, out: f"Roaming is now {_on(out['on'])}.",
    "toggle_data_saver_mode": lambda a, out: f"The data saver is now {_on(out['on'])}.",
    "set_network_mode_preference": _mode_set,
    "set_apn_settings": lambda a, out: f"I typed in the access point name {out['apn_name']}.",
    "reset_apn_settings": lambda a, out: "The access point settings will be reset when the phone starts again.",
    "toggle_wifi": _wifi_switched,
    "toggle_wifi_calling": lambda a, out: f"Phone calls over Wi-Fi are now {_on(out['on'])}.",
    "connect_vpn": lambda a, out: (
        "A new V P N tunnel is open." if out["result"] == "connected" else "The V P N was already running."
    ),
    "disconnect_vpn": lambda a, out: (
        "The V P N has been shut down." if out["result"] == "disconnected" else "There was no V P N to shut down."
    ),
    "grant_app_permission": _granted,
    "reboot_device": lambda a, out: (
        "I restarted my phone"
        + (", and it says that the access point settings are new." if out["apn_reset"] else " and it is running again.")
    ),
    "make_payment": _paid,
}


def report(tool: str, arguments: Arguments, result: Any) -> str:
    """Return the sentence in which the caller reports what its phone showed."""
    if not isinstance(result, dict) or result.get("status") == "error":
        return f"{_UNFINISHED}there was an error."
    return _REPORTS[tool](arguments, result)


_SYMPTOMS = {
    "no_service_for_hours": "My phone has had no service for hours, and I can not call anyone.",
    "mobile_data_stops_or_is_very_slow": "My internet on the phone keeps stopping, or it is terribly slow.",
    "cannot_send_mms_for_hours": "For hours I have been unable to send any picture messages.",
}


def opening(facts: Arguments) -> str:
    """Return the caller's first line: the symptom, coloured by the persona."""
    symptom = _SYMPTOMS.get(str(facts.get("symptom")), "Something is wrong with my phone.")
    return {
        "Easy": f"Hello, I hope you can help me. {symptom}",
        "Hard": f"Oh hello dear, I am so confused by this phone. {symptom}",
    }.get(str(facts.get("persona")), f"Hello. {symptom}")


def _refuel(facts: Arguments) -> str:
    allowed = facts.get("may_refuel_gb")
    return f"Yes, please add {amount(allowed)} gigabytes." if allowed else "No, I do not need more data."


_ANSWERS: dict[str, Callable[[Arguments], str]] = {
    "name": lambda facts: f"My name is {facts['name']}.",
    "date_of_birth": lambda facts: "I would rather not tell you my date of birth.",
    "location": lambda facts: (
        {
            True: "I am abroad. I am traveling in France.",
            False: "I am at home in the United States.",
        }.get(facts.get("abroad") or False, "I am at home in the United States.")
        if facts.get("location")
        else "I would rather not say where I am."
    ),
    "may_refuel": _refuel,
    "may_refuel_other": lambda facts: (
        f"I would like {amount(facts['may_refuel_gb'])} gigabytes, please."
        if facts.get("may_refuel_gb")
        else "No, I do not need more data."
    ),
    "plan_change": lambda facts: "No, I do not want to change my plan.",
    "payment": lambda facts: (
        "Yes, I will pay the bill." if facts.get("accepts_paying_bills") else "I do not know of any open bill."
    ),
    "wifi": lambda facts: "No, I have no Wi-Fi here.",
    "symptom": lambda facts: _SYMPTOMS.get(str(facts.get("symptom")), "Something is wrong with my phone."),
}


def answer(topic: str, facts: Arguments, times_before: int = 0) -> str:
    """Return what the caller answers when it is asked about ``topic``; every second time it spells more slowly."""
    if topic == "phone_number":
        return f"My phone number is {spelled(str(facts['phone_number']), slowly=times_before % 2 == 1)}."
    return _ANSWERS[topic](facts)


def is_satisfied(facts: Arguments, tool: str, result: Any) -> bool | None:
    """Return whether a result shows what the caller waits for, or None when it does not tell."""
    if not isinstance(result, dict) or result.get("status") == "error":
        return None
    wanted = facts.get("done_when")
    if wanted == "status_bar_shows_signal" and tool == "check_status_bar":
        return result["signal"] not in (None, "none")
    if wanted == "speed_test_label_excellent" and tool == "run_speed_test":
        return str(result["label"]).lower() == "excellent"
    if wanted == "mms_can_be_sent" and tool == "can_send_mms":
        return bool(result["can_send"])
    return None
