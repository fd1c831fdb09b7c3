"""How the caller and the agent of the telecom domain say things aloud."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from duologue.errors import FixtureError
from duologue.toolkit.caller_facts import CALLER_FACTS
from duologue.toolkit.phrasebook import PHRASEBOOKS, Arguments, Identification, Phrasebook, Question, Request
from duologue.toolkit.rules import RULES_NAME
from tools.tau2_telecom.caller_facts import caller_facts
from tools.tau2_telecom.caller_words import answer, is_satisfied, opening, report
from tools.tau2_telecom.spoken import DIGITS, amount

_FILE = Path(__file__).with_name("phrases.yaml")

_ANNOUNCEMENTS = {
    "enable_roaming": "Your line may now be used abroad.",
    "disable_roaming": "I have blocked your line from being used abroad.",
    "resume_line": "Your line is active again.",
    "suspend_line": "I have suspended your line.",
    "send_payment_request": "A request for payment is on its way to you.",
}


def announce(tool: str, arguments: Arguments, result: Any) -> str:
    """Return what the agent tells the caller after using one of its own tools."""
    if isinstance(result, dict) and result.get("status") == "error":
        return "That did not work in my system."
    if tool == "refuel_data":
        return f"I have booked {amount(arguments['gb_amount'])} gigabytes for you."
    return _ANNOUNCEMENTS.get(tool, "")


def permission(tool: str, arguments: Arguments) -> str:
    """Return what the agent asks before using one of its own tools; empty to ask nothing."""
    if tool != "refuel_data":
        return ""
    number = amount(arguments["gb_amount"])
    return f"May I add {number} {'gigabyte' if number == 'one' else 'gigabytes'} of data to your line?"


_NUMBER_WORDS = {
    **{word: str(digit) for digit, word in enumerate(DIGITS)},
    "oh": "0",
    "o": "0",
    "won": "1",
    "to": "2",
    "too": "2",
    "tree": "3",
    "for": "4",
    "fore": "4",
    "ate": "8",
}


def parse_phone_number(heard: str) -> str | None:
    """Return ``ddd-ddd-dddd`` when exactly ten digits were heard, however they were grouped."""
    lowered = heard.lower()
    after = lowered.split("number", 1)[-1]
    digits = "".join(_NUMBER_WORDS.get(word, word) for word in re.findall(r"\d|[a-z]+", after) if _is_digit(word))
    if len(digits) == 11 and digits.startswith("1"):
        digits = digits[1:]
    return f"{digits[:3]}-{digits[3:6]}-{digits[6:]}" if len(digits) == 10 else None


def _is_digit(word: str) -> bool:
    return word.isdigit() or word in _NUMBER_WORDS


def load_phrases(path: Path = _FILE) -> tuple[tuple[Request, ...], tuple[Question, ...]]:
    """Return the requests and questions of a phrase file.

    Raises:
        FixtureError: the file is not as expected; the message names it.
    """
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
        requests = tuple(
            Request(row["tool"], row.get("arguments", {}), tuple(row["say"]), tuple(row["reports"]))
            for row in data["requests"]
        )
        questions = tuple(Question(row["topic"], tuple(row["say"])) for row in data["questions"])
    except (OSError, yaml.YAMLError, KeyError, TypeError) as error:
        raise FixtureError(f"{path}: not a phrase file ({error!r})") from error
    return requests, questions


def build_phrasebook() -> Phrasebook:
    """Return the domain's phrasebook."""
    requests, questions = load_phrases()
    return Phrasebook(
        greeting="Hello, thank you for calling. How can I help you today?",
        requests=requests,
        questions=questions,
        identification=Identification(
            topic="phone_number",
            tool="get_customer_by_phone",
            argument="phone_number",
            parse=parse_phone_number,
            again="Sorry, I need your phone number again. Please say each digit slowly.",
            fall_back_topic="name",
        ),
        opening=opening,
        answer=answer,
        report=report,
        announce=announce,
        permission=permission,
        is_satisfied=is_satisfied,
        final_checks={
            "service_issue": ("check_status_bar", {}),
            "mobile_data_issue": ("run_speed_test", {}),
            "mms_issue": ("can_send_mms", {}),
        },
        transfers={
            "transfer_to_human_agents": "I can not solve this from here. I will transfer you to a colleague. Goodbye."
        },
    )


PHRASEBOOKS.register("tau2_telecom", RULES_NAME, build_phrasebook(), owner=__name__)
CALLER_FACTS.register("tau2_telecom", RULES_NAME, caller_facts, owner=__name__)
