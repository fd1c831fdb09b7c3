"""Tools that work on a resource, in calls without sound."""

from typing import Any

import pytest

from duologue.brains.reply import BrainCall, BrainReply
from duologue.records import event as ev
from duologue.records.outcome import Cause, StopReason
from duologue.text.call import play_text_call
from duologue.toolkit.resource_life import started_resources
from duologue.trace.reader import Trace
from tests.toolkit.shelf import shelf_scenario

SCENARIO = shelf_scenario()


class Does:
    """Makes one call, then falls silent."""

    def __init__(self, *calls: BrainCall) -> None:
        self._calls = calls

    def decide(self, messages: list[dict[str, Any]], tools: list[str]) -> BrainReply:
        calls, self._calls = self._calls, ()
        return BrainReply("", calls)


async def played(name: str, **arguments: Any) -> Trace:
    async with started_resources([SCENARIO]) as resources, resources.cloned(SCENARIO, "e1") as clones:
        return await play_text_call(SCENARIO, Does(BrainCall(name, arguments)), Does(), clones=clones)


async def test_tool_works_on_the_clone_of_the_attempt() -> None:
    trace = await played("take", count=2)
    (returned,) = trace.of(ev.ToolReturned)
    assert returned.result == {"left": 1}
    held = [(snapshot.moment, snapshot.data) for snapshot in trace.of(ev.ResourceSnapshot)]
    assert held == [("initial", {"apples": 3}), ("final", {"apples": 1})]
    assert [event.action.name for event in trace.of(ev.ActionApplied)] == ["take"]


@pytest.mark.parametrize("tool", ["lose", "hide_loss"])
async def test_resource_that_dies_ends_the_call_without_an_answer(tool: str) -> None:
    trace = await played(tool)
    (fault,), ended = trace.of(ev.Fault), trace.last(ev.CallEnded)
    assert ended is not None and (fault.cause, ended.stop_reason) == (Cause.HARNESS, StopReason.FAULT)
    assert trace.of(ev.ToolReturned) == []
    assert [snapshot.moment for snapshot in trace.of(ev.ResourceSnapshot)] == ["initial"]
    assert trace.last(ev.FinalState) is not None
