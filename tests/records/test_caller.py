import json
from typing import Any

import pytest
from pydantic import ValidationError

from duologue.errors import ScenarioError
from duologue.records.action import Side
from duologue.records.caller import ClipSource, FrozenUtterance, LiveCaller, MachineCaller, RecordedCaller
from duologue.records.scenario import Scenario
from duologue.runner.build import check_adapter, check_scenarios
from tests.bridge.counter_shop import shop_scenario

RECORDED = RecordedCaller(utterances=(FrozenUtterance(text="Hello.", language="de"), FrozenUtterance(audio="a.wav")))
MACHINE = MachineCaller(machine="complainer", clips={"yes": ClipSource(text="Yes.")}, settings={"limit_ms": 2000})


def scenario(**fields: Any) -> Scenario:
    return shop_scenario(has_user_state=False, user_needs_tools=False, **fields)


def test_caller_is_live_and_left_out_of_a_stored_scenario_unless_it_is_said() -> None:
    assert scenario().caller == LiveCaller()
    assert not {"caller", "frozen_caller"} & scenario().model_dump().keys()
    assert scenario().model_dump_json() == scenario(caller=LiveCaller()).model_dump_json()


def test_recorded_caller_is_stored_under_the_key_of_stored_traces_and_read_from_it() -> None:
    stored = scenario(caller=RECORDED).model_dump(mode="json")
    assert "caller" not in stored
    assert [utterance["text"] for utterance in stored["frozen_caller"]] == ["Hello.", None]
    assert list(stored).index("frozen_caller") == list(stored).index("labels") + 1
    assert Scenario.model_validate_json(json.dumps(stored)).caller == RECORDED


@pytest.mark.parametrize("options", [{}, {"exclude_unset": True}, {"exclude_defaults": True}])
@pytest.mark.parametrize("caller", [LiveCaller(), RECORDED, MACHINE])
def test_every_caller_survives_being_stored(caller: Any, options: Any) -> None:
    text = scenario(caller=caller).model_dump_json(**options)
    assert Scenario.model_validate_json(text).caller == caller


def test_two_callers_are_one_too_many() -> None:
    with pytest.raises(ValidationError, match="not both"):
        scenario(caller=RECORDED, frozen_caller=RECORDED.utterances)


@pytest.mark.parametrize("caller", [RECORDED, MACHINE])
def test_caller_that_is_no_bot_has_no_database(caller: Any) -> None:
    assert scenario(caller=caller).bot_sides == (Side.AGENT,)
    with pytest.raises(ValidationError, match=f"{caller.what} has no database and no tools"):
        shop_scenario(caller=caller)


def test_callers_answer_what_others_ask() -> None:
    assert [caller.opens_call for caller in (LiveCaller(), RECORDED, MACHINE)] == [False, True, False]
    assert [caller.language for caller in (LiveCaller(), RECORDED, MACHINE)] == [None, "de", "en"]
    assert [caller.max_turns for caller in (LiveCaller(), RECORDED, MACHINE)] == [None, 2, None]
    assert [list(caller.sounds) for caller in (LiveCaller(), RECORDED, MACHINE)] == [[], ["1", "2"], ["yes"]]


def test_turn_agent_is_refused_for_a_caller_that_reacts_with_name_and_remedy() -> None:
    check_adapter([scenario(caller=RECORDED)])
    with pytest.raises(
        ScenarioError, match=r"counter_shop__1 is a state machine: .*give the scenario a recorded caller"
    ):
        check_adapter([scenario(caller=RECORDED), scenario(caller=MACHINE)])


def test_machine_that_its_domain_does_not_have_is_found_before_a_call() -> None:
    with pytest.raises(
        ScenarioError, match="counter_shop__1: domain 'counter_shop' has no caller machine 'complainer'"
    ):
        check_scenarios([scenario(caller=MACHINE, initialization_actions=())])
