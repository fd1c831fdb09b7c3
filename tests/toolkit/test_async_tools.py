"""Async tools: the crash rule reaches the clones, and a resource that dies is nobody's answer."""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from duologue.brains.reply import BrainCall, BrainReply
from duologue.errors import RegistryError, ResourceFailed, TraceError
from duologue.protocol.messages import RtviMessage
from duologue.records import event as ev
from duologue.records.action import ReferenceAction, Side
from duologue.records.caller import FrozenUtterance, RecordedCaller
from duologue.records.outcome import Cause, OutcomeKind, StopReason
from duologue.records.scenario import Resources, SideSpec, SignalName
from duologue.registry import load_domain
from duologue.runner.build import check_adapter, check_scenarios
from duologue.scoring.evidence import collect_evidence
from duologue.scoring.score import score_trace
from duologue.testing.scripted_bot import BotScript, exit_push
from duologue.text.call import play_text_call
from duologue.toolkit import tool as tool_module
from duologue.toolkit.dual_state import DualState, replay_reference
from duologue.toolkit.evidence import ScoringMode
from duologue.toolkit.resource_life import started_resources
from duologue.toolkit.resources import MAX_SNAPSHOT_BYTES, Clones
from duologue.toolkit.results import ToolResult
from duologue.toolkit.rules import CATALOGUES, RULES_NAME, Catalogue
from duologue.toolkit.tool import ToolContext, check_home, find_tool, read_tool
from duologue.trace.call_trace import CallTrace
from duologue.trace.reader import Trace
from duologue.trace.writer import TraceMemory
from tests.bridge.stage import header, play
from tests.toolkit.shelf import DB, DOMAIN, JOURNAL, Shelf, shelf_scenario

SCENARIO = shelf_scenario()
SHELF = {"apples": 3}


@dataclass(frozen=True)
class Left:
    """What a call left behind."""

    value: Any
    actions: list[Any]
    db: Any
    shelf: dict[str, Any]
    reported: list[str]


@asynccontextmanager
async def one_clone() -> AsyncIterator[Clones]:
    async with started_resources([SCENARIO]) as resources, resources.cloned(SCENARIO, "e1") as clones:
        yield clones


async def on_host(name: str, arguments: dict[str, Any], _: Path) -> Left:
    async with one_clone() as clones:
        dual = DualState.for_scenario(SCENARIO)
        host = dual.host(Side.AGENT)
        done = await host.perform_async(name, arguments, clones)
        (held,) = await clones.snapshots("final")
    assert isinstance(held.data, dict)
    return Left(done.value, host.ledger.actions, host.state.db, held.data, [done.crash] if done.crash else [])


def forwarding(name: str, arguments: dict[str, Any]) -> BotScript:
    call = {"type": "tool-call", "id": "c1", "name": name, "arguments": arguments}
    pushed = [RtviMessage("server-message", data=call)]
    return BotScript(messages={5: pushed, 20: [exit_push()]}, capabilities={"forwards_tools": True})


async def in_a_call(name: str, arguments: dict[str, Any], folder: Path) -> Left:
    async with one_clone() as clones:
        played = await play(folder, forwarding(name, arguments), BotScript(), scenario=SCENARIO, clones=clones)
    return left_in(played.trace)


def left_in(trace: Trace) -> Left:
    assert trace.of(ev.Fault) == []
    (returned,) = trace.of(ev.ToolReturned)
    first, last = trace.of(ev.ResourceSnapshot)
    assert (first.moment, first.data, last.moment) == ("initial", SHELF, "final")
    final, reported = trace.last(ev.FinalState), [item for item in trace.of(ev.BotMessage) if item.kind == "bot-error"]
    assert final is not None and isinstance(last.data, dict)
    messages = [item.data["message"] for item in reported]
    return Left(returned.result, trace.of(ev.ActionApplied), final.agent_db, last.data, messages)


class Calls:
    """A brain that makes its calls, then falls silent."""

    def __init__(self, *calls: BrainCall) -> None:
        self._calls = calls

    def decide(self, messages: list[dict[str, Any]], tools: list[str]) -> BrainReply:
        calls, self._calls = self._calls, ()
        return BrainReply("", calls)


async def without_sound(name: str, arguments: dict[str, Any], _: Path) -> Left:
    async with one_clone() as clones:
        agent = Calls(BrainCall(name, arguments))
        return left_in(await play_text_call(SCENARIO, agent, Calls(), clones=clones))


HOSTS = [on_host, in_a_call, without_sound]
BREAKING = [
    ("fall_over", {}, "tool_crashed"),
    ("say_no", {}, "tool_error"),
    ("peek", {}, "tool_crashed"),
    ("guess", {}, "tool_crashed"),
    ("take", {"count": 4}, "tool_error"),
    ("take", {"count": "two"}, "invalid_arguments"),
    ("take", {}, "invalid_arguments"),
]


@pytest.mark.socket
@pytest.mark.parametrize(("name", "arguments", "error_type"), BREAKING)
@pytest.mark.parametrize("host", HOSTS)
async def test_call_that_breaks_leaves_an_answer_and_nothing_else(
    host: Any, name: str, arguments: dict[str, Any], error_type: str, tmp_path: Path
) -> None:
    left = await host(name, arguments, tmp_path)
    assert (left.value["status"], left.value["error_type"]) == ("error", error_type)
    assert left.actions == []
    assert (left.db, left.shelf) == (DB, SHELF)
    assert bool(left.reported) == (error_type == "tool_crashed")


@pytest.mark.socket
@pytest.mark.parametrize("host", HOSTS)
async def test_call_that_fits_changes_both_and_is_recorded_once(host: Any, tmp_path: Path) -> None:
    left = await host("take", {"count": 2}, tmp_path)
    assert left.value == {"left": 1}
    assert len(left.actions) == 1
    assert (left.db, left.shelf, left.reported) == ({"till": 2}, {"apples": 1}, [])


@pytest.mark.parametrize("name", ["lose", "hide_loss", "shut_down", "stick"])
async def test_resource_that_is_lost_in_a_call_is_no_answer(name: str) -> None:
    async with one_clone() as clones:
        host = DualState.for_scenario(SCENARIO).host(Side.AGENT)
        with pytest.raises(ResourceFailed, match="resource shelf: ") as failed:
            await host.perform_async(name, {}, clones)
        assert clones.failure is failed.value
        assert (host.state.db, host.ledger.actions) == (DB, [])


async def test_tool_without_an_end_is_a_crash_that_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_module, "TOOL_S", 0.05)
    async with one_clone() as clones:
        done = await DualState.for_scenario(SCENARIO).host(Side.AGENT).perform_async("sleep_long", {}, clones)
        (held,) = await clones.snapshots("final")
    assert "tool sleep_long crashed: TimeoutError" in done.crash
    assert held.data == SHELF


async def test_clone_is_only_put_back_when_it_changed() -> None:
    JOURNAL.clear()
    async with one_clone() as clones:
        host = DualState.for_scenario(SCENARIO).host(Side.AGENT)
        await host.perform_async("take", {"count": 9}, clones)
        assert JOURNAL == ["start"]
        await host.perform_async("say_no", {}, clones)
        assert JOURNAL == ["start", "restore e1"]


@pytest.mark.socket
async def test_lost_resource_makes_the_attempt_not_evaluable(tmp_path: Path) -> None:
    async with one_clone() as clones:
        played = await play(tmp_path, forwarding("lose", {}), BotScript(), scenario=SCENARIO, clones=clones)
    assert (played.fault.cause, played.fault.error) == (Cause.HARNESS, "ResourceFailed")
    assert "resource shelf: its digest: ConnectionRefusedError: nobody there" in played.fault.message
    assert [item.moment for item in played.trace.of(ev.ResourceSnapshot)] == ["initial"]
    outcome = score_trace(played.trace, None).outcome
    assert (outcome.kind, outcome.cause) == (OutcomeKind.NOT_EVALUABLE, Cause.HARNESS)


@pytest.mark.socket
async def test_evidence_holds_what_the_clone_held(tmp_path: Path) -> None:
    async with one_clone() as clones:
        played = await play(tmp_path, forwarding("take", {"count": 1}), BotScript(), scenario=SCENARIO, clones=clones)
    states = collect_evidence(played.trace, ScoringMode.DUOLOGUE).resources["shelf"]
    assert states.final is not None
    assert (states.initial.data, states.final.data) == (SHELF, {"apples": 2})
    cut = [event for event in played.trace.events if not (event.event == "resource_snapshot" and event == states.final)]
    (problem,) = collect_evidence(type(played.trace)(played.trace.header, tuple(cut)), ScoringMode.DUOLOGUE).problems
    assert (problem.cause, problem.detail) == (
        Cause.HARNESS,
        "the trace holds no final snapshot of the resource shelf",
    )


async def test_snapshot_that_a_trace_cannot_take_is_refused() -> None:
    async with one_clone() as clones:
        handle = clones.handles(["shelf"])["shelf"]
        assert isinstance(handle, Shelf)
        handle.state["pulp"] = "x" * MAX_SNAPSHOT_BYTES
        with pytest.raises(ResourceFailed, match="bytes, more than 1048576; leave out what no check looks at"):
            await clones.snapshots("final")


def test_async_tool_of_a_side_that_a_bot_runs_is_refused_with_the_remedy() -> None:
    domain = "careless_shelf"

    @read_tool(domain, Side.USER, "Look.")
    async def look_around(context: ToolContext) -> ToolResult:
        raise AssertionError

    CATALOGUES.register(domain, RULES_NAME, Catalogue(load=lambda options: [], prefixes=(domain,)), owner=__name__)
    with pytest.raises(RegistryError, match=r"'look_around'.*tool_homes=\{Side.USER: ToolHome.HARNESS\}"):
        find_tool(domain, "look_around")


def test_domain_that_leaves_an_async_tool_to_bots_does_not_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = tmp_path / "tools" / "careless_cellar"
    tools.mkdir(parents=True)
    lines = (
        "from duologue.records.action import Side",
        "from duologue.toolkit.tool import read_tool",
        "@read_tool('careless_cellar', Side.AGENT, 'Look.')",
        "async def look_below(context): ...",
    )
    (tools / "__init__.py").write_text("\n".join(lines), encoding="utf-8")
    scenarios = tmp_path / "scenarios" / "careless_cellar"
    scenarios.mkdir(parents=True)
    (scenarios / "__init__.py").write_text("", encoding="utf-8")
    for place in ("scenarios", "tools", "sync"):
        package = importlib.import_module(place)
        monkeypatch.setattr(package, "__path__", [*package.__path__])
    monkeypatch.setenv("DUOLOGUE_DOMAINS", str(tmp_path))
    for _ in range(2):
        with pytest.raises(RegistryError, match=r"'look_below' of domain 'careless_cellar' is async def"):
            load_domain("careless_cellar")


def test_snapshots_stand_in_the_trace_before_the_call_and_after_it_once_each() -> None:
    trace = CallTrace(TraceMemory(header(SCENARIO)))
    first = ev.ResourceSnapshot(name="shelf", moment="initial", digest="d", data=1)
    last = first.model_copy(update={"moment": "final"})
    for event, early in (
        (ev.InitialState(agent_db=DB, user_db=None), first),
        (first, last),
        (ev.CallStarted(), first),
        (ev.CallEnded(stop_reason=StopReason.EXIT, media_ms=0), last),
        (last, first),
        (ev.FinalState(agent_db=DB, user_db=None, agent_digest="d", user_digest=None), last),
    ):
        with pytest.raises(TraceError):
            trace.write(early)
        trace.write(event)
    with pytest.raises(TraceError):
        trace.write(last)


def test_resource_that_the_domain_lacks_and_one_of_a_plain_tool_are_refused() -> None:
    @read_tool(DOMAIN, Side.AGENT, "Look.", uses=["cellar"])
    async def look_below(context: ToolContext) -> ToolResult:
        raise AssertionError

    with pytest.raises(RegistryError, match=r"no resource 'cellar'.*shelf"):
        check_home(find_tool(DOMAIN, "look_below"))
    with pytest.raises(RegistryError, match="only an async def tool can use resources"):
        read_tool(DOMAIN, Side.AGENT, "Look.", uses=["shelf"])(plain)


def plain(context: ToolContext) -> ToolResult:
    raise AssertionError


STEP = ReferenceAction(action_id="take_0", side=Side.AGENT, name="take", arguments={"count": 1})


def test_reference_with_async_tools_is_not_replayed_and_gates_no_signal_that_needs_it() -> None:
    check_scenarios([shelf_scenario(reference_actions=(STEP,))])
    with pytest.raises(Exception, match="reference action take_0: tool 'take' is async"):
        replay_reference(shelf_scenario(reference_actions=(STEP,)))
    for signal in (SignalName.DB_STATE_MATCH, SignalName.ACTION_MATCH):
        gated = shelf_scenario(reference_actions=(STEP,), success_signals=(signal,))
        with pytest.raises(Exception, match=rf"{signal} cannot gate: the reference actions take_0 have async tools"):
            check_scenarios([gated])
    wrong = STEP.model_copy(update={"arguments": {"count": 0}})
    with pytest.raises(Exception, match="0 is less than the minimum of 1"):
        check_scenarios([shelf_scenario(reference_actions=(wrong,))])


def test_data_for_a_resource_that_no_tool_uses_is_refused() -> None:
    with pytest.raises(Exception, match="no tool uses the resource 'cellar' of resource_data; used: shelf"):
        check_scenarios([shelf_scenario(resource_data={"cellar": 1})])


def test_turn_agents_are_told_that_their_calls_reach_no_resource() -> None:
    caller = RecordedCaller(utterances=(FrozenUtterance(text="Hello."),))
    with pytest.raises(Exception, match="work on shelf, and the calls of turn agents are run nowhere"):
        check_adapter([shelf_scenario(caller=caller)])
    plainly = SideSpec(prompt="You sell.", resources=Resources(tools={}))
    check_adapter([shelf_scenario(caller=caller, agent=plainly, resource_data={})])
