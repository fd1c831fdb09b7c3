import pytest

from duologue.config import SttConfig
from duologue.records.scenario import CatalogueOptions
from duologue.registry import load_domain
from duologue.speech.whisper import ShortWhisper
from duologue.testing.phrase_recognition import PITCHES, Telephone, agent_hears, caller_hears, recognize
from duologue.toolkit.rules import CATALOGUES, RULES_NAME

pytestmark = pytest.mark.speech
EVERY = 7
"""One line in this many is spoken here; the module's own command speaks all of them."""


@pytest.fixture(scope="module")
def whisper() -> ShortWhisper:
    return ShortWhisper(SttConfig())


@pytest.mark.parametrize("voice", PITCHES)
def test_spoken_lines_are_understood(whisper: ShortWhisper, voice: str) -> None:
    load_domain("tau2_telecom")
    scenarios = CATALOGUES.get("tau2_telecom", RULES_NAME).load(CatalogueOptions(split="small"))
    lines = [*caller_hears("tau2_telecom"), *agent_hears(scenarios)][::EVERY]
    found = recognize(lines, Telephone(whisper, PITCHES[voice]).hear)
    assert [(item.line.text, item.heard) for item in found if not item.is_right] == []
