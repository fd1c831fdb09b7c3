import pytest

from duologue.brains.baselines import DoNothing
from duologue.brains.brain import build_brain
from duologue.brains.reply import BrainCall
from duologue.errors import ConfigError
from duologue.toolkit.phrasebook import Phrasebook
from duologue.toolkit.tool import END_CALL_TOOL
from tests.brains.chat import called, heard, spoke

TELECOM = {"domain": "tau2_telecom", "family": "mms_issue"}


def test_do_nothing_greets_and_hangs_up_at_once() -> None:
    reply = DoNothing().decide([heard("Hello")], [END_CALL_TOOL])
    assert reply.text
    assert reply.calls == (BrainCall(END_CALL_TOOL, {}),)
    after = [heard("Hello"), spoke(reply.text), *called(END_CALL_TOOL, {}, {"success": True})]
    assert DoNothing().decide(after, []).calls == ()


def test_unknown_kinds_name_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="do_nothing, every_tool, reference, scripted_user, silent, wrong_action"):
        build_brain("clever", {}, {})


def test_the_reference_needs_a_plan(book: Phrasebook) -> None:
    with pytest.raises(ConfigError, match="needs the plan"):
        build_brain("reference", TELECOM, {})


def test_a_wrong_action_needs_its_mutation(book: Phrasebook) -> None:
    with pytest.raises(ConfigError, match=r"llm.mutation is 'add'; the scenario payload has: drop"):
        build_brain("wrong_action", {**TELECOM, "mutations": {"drop": []}}, {"mutation": "add"})


def test_a_domain_without_phrasebook_is_refused() -> None:
    with pytest.raises(ConfigError, match="need a phrasebook"):
        build_brain("scripted_user", {"domain": "nowhere"}, {})
