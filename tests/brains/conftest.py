import pytest

from duologue.records.action import Side
from duologue.registry import load_domain
from duologue.toolkit.phrasebook import PHRASEBOOKS, Phrasebook
from duologue.toolkit.rules import RULES_NAME
from duologue.toolkit.tool import side_tools

FACTS = {
    "name": "John Smith",
    "phone_number": "555-123-2002",
    "location": "France",
    "abroad": True,
    "symptom": "mobile_data_stops_or_is_very_slow",
    "may_refuel_gb": 2.0,
    "done_when": "speed_test_label_excellent",
    "persona": "None",
}


@pytest.fixture(scope="session")
def book() -> Phrasebook:
    load_domain("tau2_telecom")
    return PHRASEBOOKS.get("tau2_telecom", RULES_NAME)


@pytest.fixture(scope="session")
def phone_tools(book: Phrasebook) -> list[str]:
    return list(side_tools("tau2_telecom", Side.USER))


@pytest.fixture
def facts() -> dict:
    return dict(FACTS)
