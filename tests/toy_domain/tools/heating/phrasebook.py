import re

from duologue.toolkit.phrasebook import PHRASEBOOKS, Arguments, Identification, Phrasebook, Question, Request
from duologue.toolkit.rules import RULES_NAME
from duologue.toolkit.vocabulary import VOCABULARIES, Vocabulary

DOMAIN = "heating"


def heard_number(text: str) -> str | None:
    digits = re.sub(r"\D", "", text)
    return f"{digits[:3]}-{digits[3:6]}-{digits[6:]}" if len(digits) == 10 else None


def report(tool: str, arguments: Arguments, result: Arguments) -> str:
    if tool == "set_target":
        return f"I have set the target to {result['target_c']} degrees."
    return f"The thermostat says that it is {'heating' if result['heating'] else 'idle'}."


PHRASEBOOKS.register(
    DOMAIN,
    RULES_NAME,
    Phrasebook(
        greeting="Heating office, how can I help you?",
        requests=(
            Request("check_thermostat", {}, ("Please read the thermostat to me.",), ("The thermostat says",)),
            Request(
                "set_target", {"celsius": 21}, ("Please set the target to twenty one.",), ("I have set the target",)
            ),
        ),
        questions=(
            Question("phone", ("What is your phone number?",)),
            Question("name", ("What is your name?",)),
        ),
        identification=Identification(
            topic="phone",
            tool="find_account",
            argument="phone",
            parse=heard_number,
            again="Please say your number once more, digit by digit.",
            fall_back_topic="name",
        ),
        opening=lambda facts: "Hello, my room is cold.",
        answer=lambda topic, facts, times: str(facts[topic]),
        report=report,
        announce=lambda tool, arguments, result: "I have switched your supply on." if tool == "restore_supply" else "",
        permission=lambda tool, arguments: "",
        is_satisfied=lambda facts, tool, result: result["heating"] if tool == "check_thermostat" else None,
        final_checks={"cold_room": ("check_thermostat", {})},
    ),
    owner=__name__,
)

VOCABULARIES.register(
    DOMAIN,
    RULES_NAME,
    Vocabulary(joined={("thermo", "stat"): "thermostat"}, labels={"h7": "H7"}, device="thermostat"),
    owner=__name__,
)
