"""What happens in a domain's world without a tool: the same on shadow, host and gold, and again from the trace."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from duologue.brains.reply import BrainCall, BrainReply
from duologue.errors import ScenarioError, ToolError
from duologue.protocol import messages
from duologue.records import event as ev
from duologue.records.action import ReferenceAction, Side
from duologue.records.outcome import Cause
from duologue.records.scenario import Resources, Scenario, SideSpec, SignalName, WorldEvent
from duologue.reports.conversation_log import conversation_log
from duologue.scoring.score import score_trace
from duologue.state.side_state import SideState
from duologue.talk.seat import Seat
from duologue.testing.scripted_bot import BotScript, exit_push
from duologue.toolkit.dual_state import replay_reference
from duologue.toolkit.results import ToolResult
from duologue.toolkit.rules import RULES_NAME, SYNC_RULES, Deltas, SyncRules, apply_dotted_delta
from duologue.toolkit.tool import write_tool
from duologue.toolkit.world import apply_world_event, world_event
from duologue.trace.reader import load_trace
from tests.bridge.stage import play
from tests.text.stage import between

DOMAIN = "tariff_office"


@world_event(DOMAIN)
def price_changed(state: SideState, side: Side, data: Mapping[str, Any]) -> None:
    assert state.db is not None
    if side is Side.AGENT:
        state.db["price"] = data["price"]
        state.db["revision"] += 1
    else:
        state.memory["news"] = data["price"]


@world_event(DOMAIN)
def half_done(state: SideState, side: Side, data: Mapping[str, Any]) -> None:
    assert state.db is not None
    if side is Side.USER:
        raise ToolError("not for callers")
    state.db["price"] = 0


@world_event(DOMAIN)
def stopped_halfway(state: SideState, side: Side, data: Mapping[str, Any]) -> None:
    assert state.db is not None
    state.db["price"] = 0
    state.memory["news"] = "half"
    if data["crashes"]:
        raise KeyError("revision")
    raise ToolError("no")


@write_tool(DOMAIN, Side.AGENT, "Quote the price to the caller.")
def quote(state: SideState) -> ToolResult:
    assert state.db is not None
    state.db["quoted"] = state.db["price"]
    return ToolResult({"quoted": state.db["price"]})


def _sync(agent: SideState, user: SideState) -> Deltas:
    assert agent.db is not None and user.db is not None
    if user.db["shown"] == agent.db["price"]:
        return Deltas()
    delta = {"shown": agent.db["price"]}
    apply_dotted_delta(user, delta)
    return Deltas(user=delta)


SYNC_RULES.register(DOMAIN, RULES_NAME, SyncRules(sync=_sync, apply=apply_dotted_delta), owner=__name__)


def scenario(*events: WorldEvent) -> Scenario:
    return Scenario(
        name=f"{DOMAIN}__one",
        domain=DOMAIN,
        task_id="one",
        user=SideSpec(prompt="You call.", shared_state={"db": {"shown": 0}}),
        agent=SideSpec(
            prompt="You quote.",
            resources=Resources(tools={"quote": {}}),
            shared_state={"db": {"price": 10, "quoted": 0, "revision": 1}},
        ),
        has_user_state=True,
        reference_actions=(ReferenceAction(action_id="quote_0", side=Side.AGENT, name="quote"),),
        success_signals=(SignalName.DB_STATE_MATCH, SignalName.CLEAN_EXIT),
        world_events=events,
    )


CHANGE = WorldEvent(at_ms=200, kind="price_changed", data={"price": 12}, before="quote_0")
TAKES_EVENTS = {"world_events": True}


def quoting(tick: int, **capabilities: Any) -> BotScript:
    return BotScript(writes={tick: [("quote", {})]}, messages={40: [exit_push()]}, capabilities=capabilities)


@pytest.mark.socket
async def test_an_event_changes_both_sides_at_its_media_time_and_is_in_the_trace(tmp_path: Path) -> None:
    agent, user = quoting(20, **TAKES_EVENTS), BotScript(capabilities=TAKES_EVENTS)
    played = await play(tmp_path, agent, user, scenario=scenario(CHANGE))
    trace = played.trace
    assert trace.of(ev.Fault) == []
    (event,) = trace.of(ev.DomainEvent)
    assert (event.t_ms, event.domain, event.kind, event.data) == (180, DOMAIN, "price_changed", {"price": 12})
    assert played.agent is not None and played.user is not None
    assert played.agent.host.state.db == {"price": 12, "quoted": 12, "revision": 2}
    assert (played.user.host.state.db, played.user.host.state.memory) == ({"shown": 12}, {"news": 12})
    assert [item.delta for item in trace.of(ev.DeltaPushed)][-1] == {"shown": 12}
    assert all(check.equal for check in trace.of(ev.StateChecked))


@pytest.mark.socket
@pytest.mark.parametrize(("tick", "passed"), [(20, True), (2, False)])
async def test_the_reference_solution_knows_the_event_and_a_stored_call_rescores_alike(
    tick: int, passed: bool, tmp_path: Path
) -> None:
    agent, user = quoting(tick, **TAKES_EVENTS), BotScript(capabilities=TAKES_EVENTS)
    await play(tmp_path, agent, user, scenario=scenario(CHANGE))
    scores = [score_trace(load_trace(tmp_path / "trace.jsonl"), None) for _ in range(2)]
    assert scores[0] == scores[1]
    assert (scores[0].outcome.kind == "passed") is passed
    assert f'{DOMAIN}: price_changed {{"price":12}}' in conversation_log(
        load_trace(tmp_path / "trace.jsonl"), scores[0]
    )


@pytest.mark.socket
async def test_a_bot_that_knows_no_events_is_given_the_whole_state(tmp_path: Path) -> None:
    played = await play(tmp_path, quoting(20), BotScript(), scenario=scenario(CHANGE))
    assert played.trace.of(ev.Fault) == []
    assert played.agent is not None and played.agent.host.state.db == {"price": 12, "quoted": 12, "revision": 2}
    assert [kind for kind, _ in played.agent.requests].count("apply_initialization") == 2
    assert not any(check.repaired for check in played.trace.of(ev.StateChecked))


@pytest.mark.socket
async def test_an_event_that_a_side_refuses_leaves_both_as_they_were_and_is_a_sync_fault(tmp_path: Path) -> None:
    broken = WorldEvent(at_ms=100, kind="half_done")
    capable = BotScript(capabilities=TAKES_EVENTS)
    played = await play(tmp_path, quoting(20, **TAKES_EVENTS), capable, scenario=scenario(broken))
    assert (played.fault.cause, played.fault.message) == (Cause.SYNC, "world event half_done: not for callers")
    final = played.trace.last(ev.FinalState)
    assert final is not None and final.agent_db is not None and final.agent_db["price"] == 10


@pytest.mark.parametrize("crashes", [False, True])
def test_an_event_that_breaks_halfway_changes_nothing(crashes: bool) -> None:
    state = SideState(DOMAIN, db={"price": 10}, memory={"news": "none"})
    with pytest.raises(ToolError):
        apply_world_event(state, Side.AGENT, "stopped_halfway", {"crashes": crashes})
    assert (state.db, state.memory) == ({"price": 10}, {"news": "none"})


def test_gold_replay_puts_events_before_the_actions_that_they_precede() -> None:
    assert replay_reference(scenario(CHANGE)).state.agent.db == {"price": 12, "quoted": 12, "revision": 2}
    late = CHANGE.model_copy(update={"before": ""})
    assert replay_reference(scenario(late)).state.agent.db == {"price": 12, "quoted": 10, "revision": 2}
    with pytest.raises(ScenarioError, match="no world event 'fly'"):
        replay_reference(scenario(WorldEvent(at_ms=0, kind="fly")))


def test_a_call_that_ended_before_an_event_is_not_measured_against_it() -> None:
    class Quotes:
        calls: tuple[BrainCall, ...] = (BrainCall("quote", {}),)

        def decide(self, messages: list[dict[str, Any]], tools: list[str]) -> BrainReply:
            calls, self.calls = self.calls, ()
            return BrainReply("", calls)

    def played(at_ms: int) -> Any:
        event = WorldEvent(at_ms=at_ms, kind="price_changed", data={"price": 12})
        return between(scenario(event), Quotes(), Quotes())

    never, at_once = played(10_000), played(0)
    assert [len(trace.of(ev.DomainEvent)) for trace in (never, at_once)] == [0, 1]
    verdicts = [score_trace(trace, None).verdicts for trace in (never, at_once)]
    matches = [next(item.passed for item in found if item.signal == SignalName.DB_STATE_MATCH) for found in verdicts]
    assert matches == [True, True]


def test_a_person_s_side_takes_events_and_refuses_those_of_another_epoch() -> None:
    seat = Seat(Side.AGENT)
    payload = {"epoch": "e1", "profile": "default"}
    seat.answer(messages.update_system_prompt("p", {"quote": {}}, DOMAIN, payload))
    seat.answer(messages.apply_initialization(DOMAIN, {"db": {"price": 1, "quoted": 0, "revision": 1}}, []))
    d, _ = seat.answer(messages.apply_event(Side.AGENT, "price_changed", {"price": 3}, "e1"))
    assert (d["success"], seat.host.state.database["price"]) == (True, 3)
    for control in (
        messages.apply_event(Side.AGENT, "price_changed", {"price": 4}, "e0"),
        messages.apply_event(Side.AGENT, "price_changed", {}, "e1"),
        messages.apply_event(Side.AGENT, "fly", {}, "e1"),
    ):
        d, _ = seat.answer(control)
        assert (d["success"], seat.host.state.db) == (False, {"price": 3, "quoted": 0, "revision": 2})


@pytest.mark.parametrize(
    ("events", "problem"),
    [
        ((WorldEvent(at_ms=5, kind="a"), WorldEvent(at_ms=4, kind="a")), "in order of at_ms"),
        ((WorldEvent(at_ms=5, kind="a", before="nothing"),), "no reference action 'nothing'"),
    ],
)
def test_events_that_cannot_be_placed_are_refused_with_the_scenario(
    events: tuple[WorldEvent, ...], problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        scenario(*events)


def test_two_calls_with_an_event_are_equal_to_the_byte(tmp_path: Path) -> None:
    traces = []
    for name in ("one", "two"):
        capable = BotScript(capabilities=TAKES_EVENTS)
        asyncio.run(play(tmp_path / name, quoting(20, **TAKES_EVENTS), capable, scenario=scenario(CHANGE)))
        lines = (tmp_path / name / "trace.jsonl").read_text().splitlines()
        traces.append([line for line in lines if '"event":"call_ended"' not in line])
    assert traces[0] == traces[1]
