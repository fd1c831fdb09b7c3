import pytest

from duologue.errors import FixtureError
from duologue.records.action import Side
from duologue.registry import load_domain
from duologue.toolkit.phrasebook import PHRASEBOOKS, Phrasebook
from duologue.toolkit.rules import RULES_NAME
from duologue.toolkit.tool import find_tool, side_tools
from tools.tau2_telecom.caller_words import answer, is_satisfied, opening, report
from tools.tau2_telecom.phrasebook import load_phrases, parse_phone_number, permission

DOMAIN = "tau2_telecom"


@pytest.fixture(scope="module")
def book() -> Phrasebook:
    load_domain(DOMAIN)
    return PHRASEBOOKS.get(DOMAIN, RULES_NAME)


def test_every_tool_of_the_phone_can_be_asked_for(book: Phrasebook) -> None:
    assert {request.tool for request in book.requests} == set(side_tools(DOMAIN, Side.USER))


def test_requests_fit_their_tools(book: Phrasebook) -> None:
    for request in book.requests:
        tool = find_tool(DOMAIN, request.tool)
        assert set(tool.required) <= set(request.arguments) <= set(tool.properties)
        assert len(request.phrasings) >= 2


def test_no_wording_asks_for_two_things(book: Phrasebook) -> None:
    phrasings = [*(item.phrasings for item in book.requests), *(item.phrasings for item in book.questions)]
    wordings = [wording for each in phrasings for wording in each]
    assert len(wordings) == len(set(wordings))


@pytest.mark.parametrize(
    ("tool", "arguments", "result", "spoken"),
    [
        ("toggle_data", {}, {"on": True}, "Cellular data is now on."),
        ("toggle_data", {}, {"on": False}, "Cellular data is now off."),
        (
            "run_speed_test",
            {},
            {"mbps": None, "label": "No Connection"},
            "The speed test failed. There is no connection.",
        ),
        ("can_send_mms", {}, {"can_send": False}, "I tried it and the picture message could not be sent."),
        ("make_payment", {}, {"paid": False}, "There was no bill to pay. I see no payment request."),
        ("make_payment", {}, {"paid": True, "amount": 65.0, "bill_id": "B1"}, "I paid the bill of sixty five dollars."),
        (
            "toggle_wifi",
            {},
            {"on": None, "blocked": True},
            "Wi-Fi can not be changed, because the phone is in airplane mode.",
        ),
        ("disconnect_vpn", {}, {"result": "nothing_to_disconnect"}, "There was no V P N to shut down."),
        (
            "grant_app_permission",
            {"app_name": "browser", "permission": "fly"},
            {"success": False},
            "That did not work. My phone says: the browser can not have that permission.",
        ),
        ("reboot_device", {}, {"status": "error"}, "That did not work. My phone says: there was an error."),
    ],
)
def test_reports_say_what_the_phone_showed(tool: str, arguments: dict, result: dict, spoken: str) -> None:
    assert report(tool, arguments, result) == spoken


def test_answers_come_from_the_facts() -> None:
    assert answer("location", {"location": "France", "abroad": True}) == "I am abroad. I am traveling in France."
    assert answer("location", {"location": None}) == "I would rather not say where I am."
    assert answer("may_refuel", {"may_refuel_gb": 2.0}) == "Yes, please add two gigabytes."
    assert answer("may_refuel", {"may_refuel_gb": None}) == "No, I do not need more data."
    assert answer("payment", {"accepts_paying_bills": True}) == "Yes, I will pay the bill."


def test_the_opening_tells_the_symptom_of_the_family() -> None:
    symptoms = ("no_service_for_hours", "mobile_data_stops_or_is_very_slow", "cannot_send_mms_for_hours")
    assert len({opening({"symptom": symptom}) for symptom in symptoms}) == 3


@pytest.mark.parametrize(
    ("wanted", "tool", "result", "expected"),
    [
        ("speed_test_label_excellent", "run_speed_test", {"label": "Good"}, False),
        ("speed_test_label_excellent", "run_speed_test", {"label": "Excellent"}, True),
        ("status_bar_shows_signal", "check_status_bar", {"signal": None}, False),
        ("mms_can_be_sent", "can_send_mms", {"can_send": True}, True),
        ("mms_can_be_sent", "run_speed_test", {"label": "Excellent"}, None),
    ],
)
def test_the_caller_knows_when_it_has_what_it_wants(
    wanted: str, tool: str, result: dict, expected: bool | None
) -> None:
    assert is_satisfied({"done_when": wanted}, tool, result) is expected


@pytest.mark.parametrize(
    ("heard", "number"),
    [
        ("My phone number is 5-5-5-1-2-3-2-0-0-2.", "555-123-2002"),
        ("five five five, one to three, to oh oh two", "555-123-2002"),
        ("1 555 123 2002", "555-123-2002"),
        ("5551-2322", None),
        ("I have no idea.", None),
    ],
)
def test_ten_heard_digits_are_a_phone_number(heard: str, number: str | None) -> None:
    assert parse_phone_number(heard) == number


def test_only_data_is_added_after_asking() -> None:
    assert permission("refuel_data", {"gb_amount": 1.0}) == "May I add one gigabyte of data to your line?"
    assert permission("enable_roaming", {}) == ""


def test_a_broken_phrase_file_is_named(tmp_path) -> None:
    path = tmp_path / "phrases.yaml"
    path.write_text("requests: [{tool: reboot_device}]", encoding="utf-8")
    with pytest.raises(FixtureError, match=r"phrases.yaml: not a phrase file"):
        load_phrases(path)
