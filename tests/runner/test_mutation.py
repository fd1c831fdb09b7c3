from collections.abc import Sequence

import pytest

from duologue.errors import ScenarioError
from duologue.records.action import DbAssertion, ReferenceAction, Side
from duologue.records.scenario import CatalogueOptions, Scenario, SignalName
from duologue.registry import load_domain
from duologue.runner.mutation import MUTATION_KINDS, build_mutants, plan_fails
from duologue.toolkit.dual_state import DualState
from duologue.toolkit.phrasebook import PHRASEBOOKS
from duologue.toolkit.rules import CATALOGUES, RULES_NAME
from duologue.toolkit.tool import END_CALL_TOOL


@pytest.fixture(scope="module", params=["guide", "tau2"])
def scenarios(request: pytest.FixtureRequest) -> Sequence[Scenario]:
    load_domain("tau2_telecom")
    return CATALOGUES.get("tau2_telecom", RULES_NAME).load(CatalogueOptions(profile=request.param))[:114]


def named(scenarios: Sequence[Scenario], issues: str) -> Scenario:
    return next(scenario for scenario in scenarios if scenario.name.endswith(issues))


@pytest.mark.slow
def test_every_scenario_has_a_failing_mutant_of_every_kind(scenarios: Sequence[Scenario]) -> None:
    for scenario in scenarios:
        start = DualState.for_scenario(scenario)
        assert not plan_fails(scenario, scenario.reference_actions, start)
        mutants = build_mutants(scenario)
        assert set(mutants) == set(MUTATION_KINDS)
        assert all(plan_fails(scenario, plan, start) for plan in mutants.values()), scenario.name


@pytest.mark.slow
def test_mutants_differ_from_the_reference_by_one_step(scenarios: Sequence[Scenario]) -> None:
    for scenario in scenarios:
        reference = [(step.name, step.arguments) for step in scenario.reference_actions]
        plans = {kind: [(step.name, step.arguments) for step in plan] for kind, plan in build_mutants(scenario).items()}
        assert len(plans["drop"]) == len(reference) - 1
        assert sum(new != old for new, old in zip(plans["alter"], reference, strict=True)) == 1
        assert len(plans["add"]) == len(reference) + 1
        assert all(step in plans["add"] for step in reference)


@pytest.mark.slow
def test_steps_of_the_caller_have_words(scenarios: Sequence[Scenario]) -> None:
    book = PHRASEBOOKS.get("tau2_telecom", RULES_NAME)
    for scenario in scenarios:
        for plan in build_mutants(scenario).values():
            assert all(book.request(step.name, step.arguments) for step in plan if step.side is Side.USER)


def test_a_hang_up_before_the_transfer_is_the_extra_step(scenarios: Sequence[Scenario]) -> None:
    transfer = next(scenario for scenario in scenarios if SignalName.ACTION_MATCH in scenario.success_signals)
    assert [step.name for step in build_mutants(transfer, ["add"])["add"]] == [
        END_CALL_TOOL,
        "transfer_to_human_agents",
    ]


def test_a_step_without_effect_is_not_dropped(scenarios: Sequence[Scenario]) -> None:
    scenario = named(scenarios, "__airplane_mode_on__data_mode_off")
    idle = ReferenceAction(action_id="idle", side=Side.USER, name="check_status_bar")
    padded = scenario.model_copy(update={"reference_actions": (idle, *scenario.reference_actions)})
    assert idle in build_mutants(padded, ["drop"])["drop"]


def test_a_scenario_that_cannot_fail_is_an_error(scenarios: Sequence[Scenario]) -> None:
    always = DbAssertion(side=Side.AGENT, func_name="assert_no_overdue_bill", arguments={"overdue_bill_id": "none"})
    easy = named(scenarios, "__airplane_mode_on__data_mode_off").model_copy(update={"db_state_assertions": (always,)})
    with pytest.raises(ScenarioError, match="no drop mutant makes its signals fail"):
        build_mutants(easy, ["drop"])
