"""What the telecom catalogue lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from duologue.errors import ConfigError
from duologue.records.action import Side
from duologue.records.scenario import Scenario, SignalName
from duologue.toolkit.dual_state import DualState, replay_reference
from duologue.toolkit.rules import PREDICATES
from duologue.toolkit.tool import END_CALL_TOOL, TOOLS
from tests.scenarios.conftest import Load


@pytest.fixture(scope="module")
def base(load: Load) -> Sequence[Scenario]:
    return load()


def manual(scenarios: Sequence[Scenario]) -> list[Scenario]:
    return [scenario for scenario in scenarios if scenario.prefix == "tau2_telecom"]


@pytest.mark.slow
@pytest.mark.parametrize(("split", "size"), [("base", 114), ("train", 74), ("test", 40), ("small", 20), ("full", 2285)])
def test_each_split_is_listed_once_per_policy_variant(load: Load, split: str, size: int) -> None:
    counts = Counter(scenario.prefix for scenario in load(split=split))
    assert counts == {"tau2_telecom": size, "tau2_telecom_workflow": size}


def test_unknown_split_and_profile_are_named(load: Load) -> None:
    with pytest.raises(ConfigError, match=r"no split 'bass'; known: base"):
        load(split="bass")
    with pytest.raises(ConfigError, match=r"no profile 'tau3'; known: guide, tau2"):
        load(profile="tau3")


def test_listing_is_alphabetical_by_task_id(base: Sequence[Scenario]) -> None:
    task_ids = [scenario.task_id for scenario in manual(base)]
    assert task_ids == sorted(task_ids)


def test_names_splits_and_voices_equal_the_record(base: Sequence[Scenario], recorded: dict[str, Any]) -> None:
    listed = {(scenario.prefix, scenario.task_id): scenario for scenario in base}
    for record in recorded["tasks"]:
        scenario = listed["tau2_telecom", record["id"]]
        assert scenario.name == record["scenario"]
        assert listed["tau2_telecom_workflow", record["id"]].name == record["scenario_workflow"]
        assert scenario.labels["split"] == record["split"]
        assert scenario.labels["voice_persona"] == record["voice_persona"]


def test_all_names_are_unique(base: Sequence[Scenario]) -> None:
    assert len({scenario.name for scenario in base}) == 228


def test_variants_differ_only_in_policy_and_name(base: Sequence[Scenario]) -> None:
    by_prefix: dict[str, dict[str, dict[str, Any]]] = {"tau2_telecom": {}, "tau2_telecom_workflow": {}}
    for scenario in base:
        record = scenario.model_dump(exclude={"name": True, "labels": {"policy_variant"}, "agent": {"prompt"}})
        by_prefix[scenario.prefix][scenario.task_id] = record
    assert by_prefix["tau2_telecom"] == by_prefix["tau2_telecom_workflow"]
    assert len({scenario.agent.prompt for scenario in base}) == 2


def test_twenty_transfer_tasks_gate_on_their_action(base: Sequence[Scenario]) -> None:
    gates = Counter(scenario.success_signals for scenario in manual(base))
    assert gates == {
        (SignalName.DB_STATE_ASSERTION, SignalName.CLEAN_EXIT): 94,
        (SignalName.DB_STATE_ASSERTION, SignalName.ACTION_MATCH, SignalName.CLEAN_EXIT): 20,
    }


def test_every_scenario_is_dual_sided(base: Sequence[Scenario]) -> None:
    for scenario in base:
        assert (scenario.domain, scenario.has_user_state, scenario.user_needs_tools) == ("tau2_telecom", True, True)
        assert scenario.max_duration_s == 900
        assert scenario.agent.shared_state == {"db_path": "tau2_telecom/db", "profile": "guide"}
        assert scenario.user.shared_state == {"db_path": "tau2_telecom/user_db", "profile": "guide"}


def test_profile_reaches_scenario_and_both_states(load: Load) -> None:
    scenario = load(profile="tau2", split="small")[0]
    profiles = {scenario.profile, scenario.agent.shared_state["profile"], scenario.user.shared_state["profile"]}
    assert profiles == {"tau2"}


def test_each_side_gets_its_own_tools(base: Sequence[Scenario]) -> None:
    agent, user = base[0].agent.resources.tools, base[0].user.resources.tools
    assert (len(agent), len(user)) == (14, 31)
    assert agent.keys() & user.keys() == {END_CALL_TOOL}


def test_caller_facts_equal_the_record(base: Sequence[Scenario], recorded: dict[str, Any]) -> None:
    facts = {scenario.task_id: scenario.user.facts for scenario in base}
    not_told = {"customer_id", "line_id", "refuel_needed_gb"}
    for record in recorded["tasks"]:
        expected = {key: value for key, value in record["user"].items() if key not in not_told}
        expected["location"] = expected["location"] and expected["location"]["country"]
        found = facts[record["id"]]
        assert found == {**expected, "family": record["family"], "persona": record["persona"]}


def test_caller_is_told_nothing_of_the_cause(base: Sequence[Scenario]) -> None:
    by_knowledge: dict[str, set[str]] = {}
    for scenario in base:
        facts = scenario.user.facts
        key = f"{facts['family']} {facts['persona']} {facts['abroad']}"
        by_knowledge.setdefault(key, set()).add(scenario.user.prompt)
    assert {len(prompts) for prompts in by_knowledge.values()} == {1}


def test_every_function_a_scenario_names_is_registered(base: Sequence[Scenario]) -> None:
    for scenario in base:
        for step in scenario.reference_actions:
            assert TOOLS.get("tau2_telecom", step.name).side is step.side
        for check in scenario.db_state_assertions:
            PREDICATES.get("tau2_telecom", check.func_name)


def holds(scenario: Scenario, dual: DualState) -> bool:
    results = [
        PREDICATES.get(scenario.domain, check.func_name)(dual.side(check.side).db, **check.arguments)
        is check.assert_value
        for check in scenario.db_state_assertions
    ]
    return all(results)


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["guide", "tau2"])
def test_reference_reaches_every_assertion(load: Load, profile: str) -> None:
    scenarios = load(profile=profile)
    assert len(scenarios) == 228
    for scenario in scenarios:
        assert holds(scenario, replay_reference(scenario).state), scenario.name


@pytest.mark.parametrize("profile", ["guide", "tau2"])
def test_initial_state_fails_all_but_the_transfer_tasks(load: Load, profile: str) -> None:
    scenarios = manual(load(profile=profile))
    solved = {scenario.task_id for scenario in scenarios if holds(scenario, DualState.for_scenario(scenario))}
    transfers = {scenario.task_id for scenario in scenarios if "ACTION" in scenario.labels["reward_basis"]}
    assert solved == transfers
    assert len(solved) == 20


@pytest.mark.parametrize("profile", ["guide", "tau2"])
def test_small_tasks_are_solvable_too(load: Load, profile: str) -> None:
    for scenario in manual(load(split="small", profile=profile)):
        assert holds(scenario, replay_reference(scenario).state), scenario.name


def test_agent_side_facts_hold_no_plan(base: Sequence[Scenario]) -> None:
    assert base[0].agent.facts.keys() == {"family", "customer_id", "line_id", "done_when"}
    assert base[0].side(Side.AGENT) is base[0].agent
