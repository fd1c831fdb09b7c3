import json
from typing import Any

import pytest

from duologue.errors import MalformedRequest
from duologue.protocol import messages
from duologue.protocol.messages import ControlRequest
from duologue.records.action import Side
from duologue.talk.seat import Seat
from tests.bridge.counter_shop import AGENT_DB, DOMAIN, USER_DB


def seated(side: Side, tools: list[str]) -> Seat:
    seat = Seat(side, "Bye.")
    payload = {"epoch": "e1", "profile": "default"}
    seat.answer(messages.update_system_prompt("A prompt.", {name: {} for name in tools}, DOMAIN, payload))
    db = AGENT_DB if side is Side.AGENT else USER_DB
    d, _ = seat.answer(messages.apply_initialization(DOMAIN, {"db": json.loads(json.dumps(db))}, []))
    assert d["success"]
    return seat


@pytest.fixture
def user() -> Seat:
    return seated(Side.USER, ["pay_bill", "drop_coins"])


def types(pushed: list[messages.RtviMessage]) -> list[str]:
    return [message.data.get("type", message.type) for message in pushed]


def test_write_is_announced_and_its_result_held_until_release(user: Seat) -> None:
    pushed = user.perform("c1", "drop_coins", {})
    assert types(pushed) == ["llm-function-call-in-progress", "action-applied"]
    assert pushed[1].data["digest"] == user.host.state.digest()
    assert user.is_waiting
    released, closing = user.answer(messages.release_action("e1", 1))
    assert (released, types(closing)) == (True, ["llm-function-call-stopped"])
    assert closing[0].data["result"] == {"coins": 2}
    assert not user.is_waiting


def test_refused_write_is_answered_at_once_and_not_recorded(user: Seat) -> None:
    pushed = user.perform("c1", "pay_bill", {})
    assert pushed[1].data["result"]["message"] == "nothing to pay"
    d, _ = user.answer(messages.get_scenario_summary(include_db=True))
    assert d["actions"] == []


def test_failed_sync_is_told_with_the_result(user: Seat) -> None:
    user.perform("c1", "drop_coins", {})
    _, closing = user.answer(messages.release_action("e1", 1, ["the agent bot is gone"]))
    assert types(closing) == ["llm-function-call-stopped", "bot-error"]


def test_release_of_another_epoch_finds_nothing(user: Seat) -> None:
    user.perform("c1", "drop_coins", {})
    assert user.answer(messages.release_action("e0", 1)) == (False, [])
    assert user.is_waiting


def test_unknown_tool_and_wrong_arguments_are_answered(user: Seat) -> None:
    assert user.perform("c1", "fly", {})[1].data["result"]["error_type"] == "unknown_tool"
    result: dict[str, Any] = user.perform("c2", "drop_coins", {"count": 2})[1].data["result"]
    assert result["status"] == "error"


def test_delta_changes_the_state_or_is_refused(user: Seat) -> None:
    d, _ = user.answer(messages.apply_sync_delta(DOMAIN, {"wallet.bill": "due"}, "e1"))
    assert d == {"success": True, "errors": [], "digest": user.host.state.digest()}
    d, _ = user.answer(messages.apply_sync_delta(DOMAIN, {"wallet.nothing": 1}, "e1"))
    assert not d["success"]


def test_agent_hangs_up_with_its_tool_and_a_caller_without_one() -> None:
    agent = seated(Side.AGENT, ["EndConversationTool"])
    assert types(agent.hang_up("c1")) == ["llm-function-call-in-progress", "action-applied"]
    _, closing = agent.answer(messages.release_action("e1", 1))
    assert closing[-1].data == {"text": "<exit>The task is finished.</exit>"}
    assert [message.data for message in seated(Side.USER, []).hang_up("c1")] == [{"text": "<exit>Bye.</exit>"}]


def test_refused_attempt_to_hang_up_does_not_end_the_call() -> None:
    pushed = seated(Side.AGENT, ["EndConversationTool"]).perform("c1", "EndConversationTool", {"reason": "bored"})
    assert types(pushed) == ["llm-function-call-in-progress", "llm-function-call-stopped"]
    assert pushed[1].data["result"]["error_type"] == "invalid_arguments"


def test_requests_that_do_not_exist_or_fit_are_refused(user: Seat) -> None:
    for control in (ControlRequest("dance"), ControlRequest("release_action", {})):
        with pytest.raises(MalformedRequest, match=control.t):
            user.answer(control)
    d, _ = user.answer(ControlRequest("apply_sync_delta", {}))
    assert (d["success"], d["errors"]) == (False, ["MalformedRequest: apply_sync_delta: delta is missing"])


def test_a_call_that_the_harness_runs_is_forwarded_and_ends_with_its_result() -> None:
    seat = Seat(Side.USER, "Bye.")
    schemas: list[dict[str, Any]] = [{"name": "drop_coins"}]
    payload = {"epoch": "e1", "profile": "default"}
    seat.answer(messages.update_system_prompt("A prompt.", {"drop_coins": {}}, DOMAIN, payload, schemas))
    pushed = seat.perform("c1", "drop_coins", {})
    assert types(pushed) == ["llm-function-call-in-progress", "tool-call"]
    assert seat.is_waiting
    assert seat.answer(messages.tool_result("c2", "drop_coins", {})) == (False, [])
    taken, closing = seat.answer(messages.tool_result("c1", "drop_coins", {"coins": 2}))
    assert (taken, closing[0].data["result"], seat.is_waiting) == (True, {"coins": 2}, False)
