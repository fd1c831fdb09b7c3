"""The texts hold what a model needs, and name only what exists."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from duologue.records.action import Side
from duologue.records.scenario import Scenario
from duologue.toolkit.tool import side_tools
from tests.scenarios.conftest import Load

VERBS = (
    "get|send|suspend|resume|enable|disable|refuel|transfer|toggle|check|set|reset|run|can|grant|connect|disconnect"
    "|make|reboot|reseat"
)
TOOL_WORD = re.compile(rf"\b(?:{VERBS})_[a-z_]+\b")


@pytest.fixture(scope="module")
def scenarios(load: Load) -> Sequence[Scenario]:
    return load()


def prompt(scenarios: Sequence[Scenario], prefix: str) -> str:
    return next(scenario.agent.prompt for scenario in scenarios if scenario.prefix == prefix)


def policy(text: str) -> str:
    return text.split("## Additional Notes to Follow")[0]


def test_availability_note_lists_exactly_the_registered_tools(scenarios: Sequence[Scenario]) -> None:
    from scenarios.tau2_telecom.prompts import TELECOM_AGENT_TOOL_AVAILABILITY_NOTE as NOTE

    own, phone = NOTE.split("You cannot call any of these 30")
    assert sorted(TOOL_WORD.findall(own)) == sorted(side_tools("tau2_telecom", Side.AGENT))
    assert sorted([*TOOL_WORD.findall(phone)]) == sorted(side_tools("tau2_telecom", Side.USER))


@pytest.mark.parametrize("prefix", ["tau2_telecom", "tau2_telecom_workflow"])
def test_policy_names_no_tool_that_does_not_exist(scenarios: Sequence[Scenario], prefix: str) -> None:
    named = set(TOOL_WORD.findall(policy(prompt(scenarios, prefix)))) - {"toggle_"}
    assert named <= {*side_tools("tau2_telecom", Side.AGENT), *side_tools("tau2_telecom", Side.USER)}


@pytest.mark.parametrize("prefix", ["tau2_telecom", "tau2_telecom_workflow"])
def test_policy_names_every_tool_of_every_reference_solution(scenarios: Sequence[Scenario], prefix: str) -> None:
    needed = {step.name for scenario in scenarios for step in scenario.reference_actions}
    assert needed <= set(TOOL_WORD.findall(policy(prompt(scenarios, prefix))))


@pytest.mark.parametrize("prefix", ["tau2_telecom", "tau2_telecom_workflow"])
@pytest.mark.parametrize(
    "fact",
    ["25 February 2025", "12:08", "two GB", "4g_5g_preferred", "contract end date", "messaging", "MMSC", "one after"],
)
def test_policy_states_the_deciding_facts(scenarios: Sequence[Scenario], prefix: str, fact: str) -> None:
    assert fact in policy(prompt(scenarios, prefix))


def test_agent_prompt_ends_with_the_notes_in_order(scenarios: Sequence[Scenario]) -> None:
    from scenarios.tau2_telecom import prompts

    notes = prompt(scenarios, "tau2_telecom").split(prompts.NOTES_HEADING)[1]
    parts = [
        prompts.VOICE_GUIDELINES,
        prompts.END_OF_CALL_GUIDELINE,
        prompts.TELECOM_AGENT_TOOL_AVAILABILITY_NOTE,
        prompts.TELECOM_AGENT_STAY_ON_TASK_GUIDELINE,
        prompts.TELECOM_AGENT_HOME_NETWORK_NOTE,
    ]
    assert [notes.index(part) for part in parts] == sorted(notes.index(part) for part in parts)
    assert "EndConversationTool" in notes


def test_caller_prompt_holds_script_rule_and_facts(scenarios: Sequence[Scenario]) -> None:
    from scenarios.tau2_telecom import prompts

    for scenario in scenarios:
        text = scenario.user.prompt
        assert all(f"Step {n}: {step}" in text for n, step in enumerate(prompts.TELECOM_USER_INSTRUCTIONS, start=1))
        assert prompts.TELECOM_PASSIVE_TOOL_USE_GUIDELINE in text
        assert "John Smith" in text
        assert "555-123-2002" in text


def test_persona_section_is_left_out_for_none(scenarios: Sequence[Scenario]) -> None:
    for scenario in scenarios:
        assert ("## Persona" in scenario.user.prompt) == (scenario.labels["persona"] != "None")


def test_only_told_callers_know_where_they_are(scenarios: Sequence[Scenario]) -> None:
    for scenario in scenarios:
        is_told = scenario.user.facts["location"] is not None
        assert ("Right now you are" in scenario.user.prompt) == is_told
        assert ("France" in scenario.user.prompt) == (is_told and scenario.user.facts["abroad"])
