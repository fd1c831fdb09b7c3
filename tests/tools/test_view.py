import json

import pytest

from duologue.records.action import Side
from duologue.records.scenario import CatalogueOptions, Scenario
from duologue.registry import load_domain
from duologue.toolkit.dual_state import DualState
from duologue.toolkit.rules import CATALOGUES, RULES_NAME
from duologue.toolkit.view import visible_state


@pytest.fixture(scope="module")
def scenarios() -> list[Scenario]:
    load_domain("tau2_telecom")
    return list(CATALOGUES.get("tau2_telecom", RULES_NAME).load(CatalogueOptions(profile="guide")))


@pytest.mark.slow
def test_every_scenario_has_a_phone_to_look_at(scenarios: list[Scenario]) -> None:
    for scenario in scenarios:
        shown = visible_state(Side.USER, DualState.for_scenario(scenario).side(Side.USER))
        assert shown is not None
        assert shown["Status bar"]["Airplane mode"] in (True, False)


def test_what_only_the_carrier_knows_is_not_shown(scenarios: list[Scenario]) -> None:
    dual = DualState.for_scenario(scenarios[0])
    shown = json.dumps(visible_state(Side.USER, dual.side(Side.USER)))
    assert "line_active" not in shown
    assert "usage" not in shown
    assert visible_state(Side.AGENT, dual.agent) is None


def test_payment_request_appears_when_it_arrives(scenarios: list[Scenario]) -> None:
    scenario = next(
        item for item in scenarios if any(step.name == "send_payment_request" for step in item.reference_actions)
    )
    dual = DualState.for_scenario(scenario)
    assert "Payment request" not in (visible_state(Side.USER, dual.side(Side.USER)) or {})
    for step in scenario.reference_actions:
        dual.invoke(step.side, step.name, step.arguments)
        dual.sync()
        if step.name == "send_payment_request":
            break
    assert "Payment request" in (visible_state(Side.USER, dual.side(Side.USER)) or {})
