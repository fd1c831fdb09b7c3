from pathlib import Path

import pytest

from duologue.bridge.settings import PlanPayload
from duologue.records import event as ev
from duologue.records.action import ReferenceAction, Side
from duologue.testing.scripted_bot import BotScript, exit_push
from tests.bridge.counter_shop import shop_scenario
from tests.bridge.stage import play

pytestmark = pytest.mark.socket

STEP = ReferenceAction(action_id="a1", side=Side.AGENT, name="request_payment")
PLAN = PlanPayload([STEP], {"drop": []})
ORACLE = BotScript(messages={2: [exit_push()]}, capabilities={"plan": True})


async def test_bots_are_prepared_in_order_and_nothing_is_sent_before_its_turn(tmp_path: Path) -> None:
    played = await play(tmp_path)
    assert played.user is not None
    assert [t for t, _ in played.user.requests] == [
        "reset",
        "update_system_prompt",
        "apply_initialization",
        "apply_sync_delta",
        "get_scenario_summary",
        "get_context_history",
        "get_scenario_summary",
    ]
    assert played.agent is not None and played.agent.texts == ["Hello"] and played.user.texts == []


async def test_read_back_is_logged_for_both_sides(tmp_path: Path) -> None:
    prepared = (await play(tmp_path)).trace.of(ev.Prepared)
    assert [(event.side, event.self_reported) for event in prepared] == [(Side.AGENT, False), (Side.USER, False)]
    assert prepared[1].tools == ("drop_coins", "pay_bill")


async def test_only_the_oracle_on_the_agent_side_gets_the_plan(tmp_path: Path) -> None:
    played = await play(tmp_path, ORACLE, BotScript(capabilities={"plan": True}), plan=PLAN)
    assert played.agent is not None and played.user is not None
    assert played.agent.scenario["plan"] == [
        {"action_id": "a1", "side": "agent", "name": "request_payment", "arguments": {}}
    ]
    assert played.agent.scenario["mutations"] == {"drop": []}
    assert "plan" not in played.user.scenario


async def test_plan_stays_home_when_nobody_asks_or_it_is_switched_off(tmp_path: Path) -> None:
    not_asked = await play(tmp_path / "a", plan=PLAN)
    switched_off = await play(tmp_path / "b", ORACLE, plan=PLAN, send_plan=False)
    for played in (not_asked, switched_off):
        assert played.agent is not None and "plan" not in played.agent.scenario


async def test_each_side_gets_its_own_facts_only(tmp_path: Path) -> None:
    played = await play(tmp_path, ORACLE)
    assert played.agent is not None and played.user is not None
    assert (played.agent.scenario["facts"], played.user.scenario["facts"]) == ({"till": 1}, {"mood": "good"})


async def test_agent_under_test_is_sent_no_facts(tmp_path: Path) -> None:
    played = await play(tmp_path)
    assert played.agent is not None and played.agent.scenario["facts"] == {}


async def test_profile_that_initializes_step_by_step_starts_from_the_whole_state(tmp_path: Path) -> None:
    played = await play(tmp_path, scenario=shop_scenario(profile="stepwise"))
    assert played.trace.of(ev.Fault) == [] and played.trace.of(ev.DeltaPushed) == []
    assert played.user is not None and played.user.host.state.db is not None
    assert played.user.host.state.db["wallet"] == {"bill": "none", "shop": "Corner", "coins": 5}
    assert [event.self_reported for event in played.trace.of(ev.Prepared)] == [False, False]
