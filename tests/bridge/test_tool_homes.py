"""Whose tools the harness runs is the domain's to say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from duologue.protocol.messages import RtviMessage
from duologue.records import event as ev
from duologue.records.action import Side
from duologue.records.outcome import Cause, EvidenceSource
from duologue.records.scenario import Resources, Scenario, SideSpec, SignalName
from duologue.scoring.sources import evidence_sources
from duologue.state.side_state import SideState
from duologue.testing.scripted_bot import BotScript, exit_push
from duologue.toolkit.results import ToolResult
from duologue.toolkit.rules import CATALOGUES, RULES_NAME, Catalogue, ToolHome
from duologue.toolkit.tool import write_tool
from tests.bridge.stage import play

pytestmark = pytest.mark.socket

DOMAIN = "harness_ledger"


@write_tool(DOMAIN, Side.AGENT, "Book an amount.", {"amount": {"type": "integer"}})
def book(state: SideState, amount: int) -> ToolResult:
    assert state.db is not None
    state.db["booked"] += amount
    return ToolResult({"booked": state.db["booked"]})


CATALOGUES.register(
    DOMAIN,
    RULES_NAME,
    Catalogue(load=lambda options: [], prefixes=(DOMAIN,), tool_homes={Side.AGENT: ToolHome.HARNESS}),
    owner=__name__,
)
SCENARIO = Scenario(
    name=f"{DOMAIN}__one",
    domain=DOMAIN,
    task_id="one",
    user=SideSpec(prompt="You call."),
    agent=SideSpec(prompt="You book.", resources=Resources(tools={"book": {}}), shared_state={"db": {"booked": 0}}),
    success_signals=(SignalName.CLEAN_EXIT,),
)


def forwarding(*calls: dict[str, Any], **capabilities: Any) -> BotScript:
    pushed = [RtviMessage("server-message", data={"type": "tool-call", **call}) for call in calls]
    return BotScript(messages={5: pushed, 20: [exit_push()]}, capabilities=capabilities)


async def test_tools_of_a_harness_side_run_once_on_the_database_of_the_harness(tmp_path: Path) -> None:
    agent = forwarding({"id": "c1", "name": "book", "arguments": {"amount": 2}}, forwards_tools=True)
    played = await play(tmp_path, agent, BotScript(), scenario=SCENARIO)
    trace = played.trace
    assert trace.of(ev.Fault) == []
    assert [event.action.name for event in trace.of(ev.ActionApplied)] == ["book"]
    assert [event.result for event in trace.of(ev.ToolReturned)] == [{"booked": 2}]
    assert played.agent is not None and played.agent.host.state.db is None
    final = trace.last(ev.FinalState)
    assert final is not None and final.agent_db == {"booked": 2}
    assert evidence_sources(trace) == {Side.AGENT: EvidenceSource.HARNESS}
    asked = [kind for kind, _ in played.agent.requests]
    assert "tool-result" in asked
    assert "apply_initialization" not in asked


async def test_a_bot_that_cannot_forward_is_told_before_the_call(tmp_path: Path) -> None:
    played = await play(tmp_path, forwarding(), BotScript(), scenario=SCENARIO)
    assert (played.fault.cause, played.trace.of(ev.CallStarted)) == (Cause.INIT, [])
    assert "does not forward its calls" in played.fault.message


async def test_what_a_forwarding_bot_says_of_its_calls_is_logged_once(tmp_path: Path) -> None:
    started = RtviMessage(
        "llm-function-call-in-progress",
        data={"tool_call_id": "c1", "function_name": "book", "arguments": {"amount": 2}},
    )
    call = {"type": "tool-call", "id": "c1", "name": "book", "arguments": {"amount": 2}}
    stopped = RtviMessage("llm-function-call-stopped", data={"tool_call_id": "c1", "result": {"booked": 2}})
    agent = BotScript(
        messages={5: [started, RtviMessage("server-message", data=call)], 10: [stopped], 20: [exit_push()]},
        capabilities={"forwards_tools": True},
    )
    trace = (await play(tmp_path, agent, BotScript(), scenario=SCENARIO)).trace
    assert (len(trace.of(ev.ToolCalled)), len(trace.of(ev.ToolReturned))) == (1, 1)
