"""What a tool that breaks leaves behind, on every host of a side: nothing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pipecat.services.llm_service import FunctionCallParams

from duologue.bots.context import ScenarioState
from duologue.bots.tool_calls import ToolCalls
from duologue.brains.reply import BrainCall, BrainReply
from duologue.errors import ToolRefusal
from duologue.protocol import messages
from duologue.records import event as ev
from duologue.records.action import Side
from duologue.records.scenario import Resources, Scenario, SideSpec, SignalName
from duologue.state.side_state import SideState
from duologue.talk.seat import Seat
from duologue.testing.scripted_bot import BotScript, exit_push
from duologue.toolkit.dual_state import DualState
from duologue.toolkit.initialization import initialize
from duologue.toolkit.results import ToolResult
from duologue.toolkit.side_host import SideHost, find_tools
from duologue.toolkit.tool import read_tool, write_tool
from tests.bridge.stage import play
from tests.text.stage import between

DOMAIN = "breaking_shop"
DB: dict[str, Any] = {"shelf": {"apples": 3, "label": "red"}}


@write_tool(DOMAIN, Side.AGENT, "Sell apples.", {"count": {"type": "integer", "minimum": 1}})
def sell(state: SideState, count: int) -> ToolResult:
    assert state.db is not None
    state.db["shelf"]["apples"] -= count
    return ToolResult({"left": state.db["shelf"]["apples"]})


@write_tool(DOMAIN, Side.AGENT, "Change, then fall over.")
def fall_over(state: SideState) -> ToolResult:
    assert state.db is not None
    state.db["shelf"]["apples"] = 0
    state.memory["seen"] = True
    raise KeyError("shelf two")


@write_tool(DOMAIN, Side.AGENT, "Change, then say no.")
def say_no(state: SideState) -> ToolResult:
    assert state.db is not None
    state.db["shelf"]["label"] = "blue"
    raise ToolRefusal("the shop is closed")


@read_tool(DOMAIN, Side.AGENT, "Look, and touch.")
def peek(state: SideState) -> ToolResult:
    assert state.db is not None
    state.db["shelf"]["label"] = "touched"
    return ToolResult({"label": "touched"})


TOOLS = ("sell", "fall_over", "say_no", "peek")
SCENARIO = Scenario(
    name=f"{DOMAIN}__one",
    domain=DOMAIN,
    task_id="one",
    user=SideSpec(prompt="You call."),
    agent=SideSpec(
        prompt="You sell.", resources=Resources(tools={name: {} for name in TOOLS}), shared_state={"db": DB}
    ),
    success_signals=(SignalName.CLEAN_EXIT,),
)


@dataclass(frozen=True)
class Left:
    """What a call left on a host: the value for the model, the records, the database, the bugs reported."""

    value: Any
    actions: list[Any]
    db: Any
    reported: list[str]


def on_side_host(name: str, arguments: dict[str, Any], _: Path) -> Left:
    host = SideHost(SideState(DOMAIN))
    host.begin(DOMAIN, "p", find_tools(DOMAIN, dict.fromkeys(TOOLS)), "e1", "default")
    initialize(host.state, {"db": DB}, [])
    done = host.perform(name, arguments)
    return Left(done.value, host.ledger.actions, host.state.db, [done.crash] if done.crash else [])


def on_shadow(name: str, arguments: dict[str, Any], _: Path) -> Left:
    dual = DualState.for_scenario(SCENARIO)
    outcome = dual.invoke(Side.AGENT, name, arguments)
    return Left(
        outcome.value, dual.ledgers[Side.AGENT].actions, dual.agent.db, [outcome.crash] if outcome.crash else []
    )


def on_seat(name: str, arguments: dict[str, Any], _: Path) -> Left:
    seat = Seat(Side.AGENT)
    payload = {"epoch": "e1", "profile": "default"}
    seat.answer(messages.update_system_prompt("p", {tool: {} for tool in TOOLS}, DOMAIN, payload))
    seat.answer(messages.apply_initialization(DOMAIN, {"db": DB}, []))
    pushed = seat.perform("c1", name, arguments)
    if seat.is_waiting:
        _, closing = seat.answer(messages.release_action("e1", 1))
        pushed += closing
    (value,) = [item.data["result"] for item in pushed if item.type == "llm-function-call-stopped"]
    reported = [item.data["message"] for item in pushed if item.data.get("type") == "bot-error"]
    return Left(value, seat.host.ledger.actions, seat.host.state.db, reported)


def from_trace(trace: Any) -> Left:
    (returned,) = trace.of(ev.ToolReturned)
    reported = [event.data["message"] for event in trace.of(ev.BotMessage) if event.kind == "bot-error"]
    final = trace.last(ev.FinalState)
    assert trace.of(ev.Fault) == []
    return Left(returned.result, trace.of(ev.ActionApplied), final.agent_db, reported)


class Calls:
    """A brain that makes one call, then falls silent."""

    def __init__(self, *calls: BrainCall) -> None:
        self._calls = calls

    def decide(self, messages: list[dict[str, Any]], tools: list[str]) -> BrainReply:
        calls, self._calls = self._calls, ()
        return BrainReply("", calls)


def on_text_channel(name: str, arguments: dict[str, Any], _: Path) -> Left:
    return from_trace(between(SCENARIO, Calls(BrainCall(name, arguments)), Calls()))


def forwarded_to_the_bridge(name: str, arguments: dict[str, Any], folder: Path) -> Left:
    call = {"type": "tool-call", "id": "c1", "name": name, "arguments": arguments}
    push = messages.RtviMessage("server-message", data=call)
    agent = BotScript(messages={5: [push], 30: [exit_push()]}, capabilities={"tools": "harness"})
    return from_trace(asyncio.run(play(folder, agent, BotScript(), scenario=SCENARIO)).trace)


def on_scripted_bot(name: str, arguments: dict[str, Any], folder: Path) -> Left:
    agent = BotScript(writes={5: [(name, arguments)]}, messages={30: [exit_push()]})
    return from_trace(asyncio.run(play(folder, agent, BotScript(), scenario=SCENARIO)).trace)


def on_bot(name: str, arguments: dict[str, Any], _: Path) -> Left:
    state, pushed, values = ScenarioState(), [], []
    state.host.begin(DOMAIN, "p", find_tools(DOMAIN, dict.fromkeys(TOOLS)), "e1", "default")
    initialize(state.host.state, {"db": DB}, [])

    async def push(data: dict[str, Any]) -> None:
        pushed.append(data)

    async def take(value: Any, *, properties: Any) -> None:
        values.append(value)

    call = SimpleNamespace(function_name=name, arguments=arguments, llm=None, tool_call_id="c1", result_callback=take)
    asyncio.run(ToolCalls(state, push).handle(cast(FunctionCallParams, call)))
    (value,) = values
    reported = [data["message"] for data in pushed if data.get("type") == "bot-error"]
    return Left(value, state.host.ledger.actions, state.host.state.db, reported)


Host = Callable[[str, dict[str, Any], Path], Left]
HOSTS: list[Host] = [
    on_side_host,
    on_shadow,
    on_bot,
    on_seat,
    on_text_channel,
    forwarded_to_the_bridge,
    on_scripted_bot,
]
BREAKING = [
    ("fall_over", {}, "tool_crashed"),
    ("say_no", {}, "tool_error"),
    ("peek", {}, "tool_crashed"),
    ("sell", {"count": "two"}, "invalid_arguments"),
    ("sell", {"count": 0}, "invalid_arguments"),
    ("sell", {"count": True}, "invalid_arguments"),
    ("sell", {"amount": 1}, "invalid_arguments"),
]


@pytest.mark.socket
@pytest.mark.parametrize(("name", "arguments", "error_type"), BREAKING)
@pytest.mark.parametrize("host", HOSTS)
def test_a_call_that_breaks_leaves_an_answer_and_nothing_else(
    host: Host, name: str, arguments: dict[str, Any], error_type: str, tmp_path: Path
) -> None:
    left = host(name, arguments, tmp_path)
    assert (left.value["status"], left.value["error_type"]) == ("error", error_type)
    assert left.actions == []
    assert left.db == DB
    assert bool(left.reported) == (error_type == "tool_crashed")


@pytest.mark.socket
@pytest.mark.parametrize("host", HOSTS)
def test_a_call_that_fits_is_recorded_once(host: Host, tmp_path: Path) -> None:
    left = host("sell", {"count": 2}, tmp_path)
    assert left.value == {"left": 1}
    assert len(left.actions) == 1
    assert left.db["shelf"]["apples"] == 1
    assert left.reported == []
    json.dumps(left.value)
