"""What a trace proves: final databases, the stream of writes, the gold replay, and what contradicts them.

Databases come from each side's own summary and must equal the bridge's shadow; writes come from the
pushes seen live and must equal the summary's log. A contradiction is a problem with a cause, never a
failed check.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from duologue.errors import RegistryError, ScenarioError
from duologue.records.action import Side
from duologue.records.event import (
    ActionApplied,
    CallEnded,
    DeltaPushed,
    DomainEvent,
    Fault,
    FinalState,
    InitialState,
    ResourceSnapshot,
    StateChecked,
    SummaryPulled,
)
from duologue.records.judge import JudgeResult
from duologue.records.outcome import Cause, StopReason
from duologue.state.canonical import contract_hash_of, differences
from duologue.state.side_state import SideState
from duologue.toolkit.dual_state import DualState, GoldReplay, replay_reference, tool_settings, unplayable_steps
from duologue.toolkit.evidence import AppliedAction, Evidence, FinalDb, Problem, ResourceStates, ScoringMode
from duologue.toolkit.tool import END_CALL_TOOL
from duologue.toolkit.utterances import read_deeds
from duologue.toolkit.world import occurred
from duologue.trace.reader import Trace


def collect_evidence(trace: Trace, mode: ScoringMode, judge: JudgeResult | None = None) -> Evidence:
    """Read a trace once and return what checks need; never raises for what a trace can hold."""
    initial = _initial_state(trace)
    gold, gold_problem = _gold(trace, initial)
    final = {side: _final_db(trace, side) for side in Side}
    resources = _resources(trace)
    problems = [
        *_ending_problems(trace),
        *_state_problems(trace),
        *_action_problems(trace),
        *_resource_problems(resources),
    ]
    actions = tuple(
        AppliedAction(event.seq, event.side, event.action) for event in trace.of(ActionApplied) if event.accepted
    )
    deeds = tuple(read_deeds(trace.events))
    return Evidence(
        trace, mode, initial, gold, gold_problem, final, actions, tuple(problems), deeds, judge, resources=resources
    )


def _initial_state(trace: Trace) -> DualState | None:
    event = trace.last(InitialState)
    if event is None:
        return None
    scenario = trace.header.scenario
    agent = SideState(scenario.domain, event.agent_db, event.agent_memory, scenario.profile)
    user = SideState(scenario.domain, event.user_db, event.user_memory, scenario.profile)
    user_state = user if scenario.has_user_state else None
    return DualState(scenario.domain, agent, user_state, tools=tool_settings(scenario))


def _gold(trace: Trace, initial: DualState | None) -> tuple[GoldReplay | None, str]:
    scenario = trace.header.scenario
    if initial is None:
        return None, "the trace holds no initial state"
    user = initial.user.copy() if initial.user is not None else None
    start = DualState(scenario.domain, initial.agent.copy(), user, tools=tool_settings(scenario))
    try:
        if steps := unplayable_steps(scenario):
            return None, f"the reference actions {', '.join(steps)} have async tools, which are not replayed"
        return replay_reference(scenario, start, occurred(scenario.world_events, trace.of(DomainEvent))), ""
    except (RegistryError, ScenarioError) as error:
        return None, str(error)
    except Exception as error:  # noqa: BLE001 - a domain's tools met a database they were not written for
        return None, f"{scenario.name}: the reference solution cannot be replayed: {type(error).__name__}: {error}"


def _resources(trace: Trace) -> dict[str, ResourceStates]:
    found = trace.of(ResourceSnapshot)
    by_moment = {
        moment: {item.name: item for item in found if item.moment == moment} for moment in ("initial", "final")
    }
    return {name: ResourceStates(before, by_moment["final"].get(name)) for name, before in by_moment["initial"].items()}


def _resource_problems(resources: Mapping[str, ResourceStates]) -> list[Problem]:
    missing = [name for name, states in resources.items() if states.final is None]
    return [Problem(Cause.HARNESS, f"the trace holds no final snapshot of the resource {name}") for name in missing]


def _shadow(trace: Trace, side: Side) -> tuple[dict[str, object] | None, str | None]:
    event = trace.last(FinalState)
    if event is None:
        return None, None
    return (event.agent_db, event.agent_digest) if side is Side.AGENT else (event.user_db, event.user_digest)


def _summary(trace: Trace, side: Side) -> SummaryPulled | None:
    return next((event for event in reversed(trace.of(SummaryPulled)) if event.side is side), None)


def _final_db(trace: Trace, side: Side) -> FinalDb:
    summary = _summary(trace, side)
    if summary is None:
        return FinalDb(None, missing=f"no summary of the {side} side")
    shadow, _ = _shadow(trace, side)
    if summary.db is not None and shadow is not None and contract_hash_of(summary.db) == contract_hash_of(shadow):
        # The hash takes null and "none" for the same, predicates do not: the shadow's own values count.
        return FinalDb(copy.deepcopy(shadow), summary.db_hash, seqs=(summary.seq,))
    if summary.db is not None:
        return FinalDb(copy.deepcopy(summary.db), summary.db_hash, seqs=(summary.seq,))
    if shadow is not None and summary.db_hash is not None and summary.db_hash == contract_hash_of(shadow):
        return FinalDb(copy.deepcopy(shadow), summary.db_hash, seqs=(summary.seq,))
    return FinalDb(None, summary.db_hash, f"the summary of the {side} side holds no database", (summary.seq,))


def _ending_problems(trace: Trace) -> list[Problem]:
    faults = [Problem(fault.cause, f"{fault.error}: {fault.message}") for fault in trace.of(Fault) if fault.fatal]
    if faults:
        return faults
    ended = trace.last(CallEnded)
    if ended is None or trace.is_torn:
        return [Problem(Cause.HARNESS, "the trace is incomplete: the attempt was cut off")]
    causes = {
        StopReason.BOT_LOST: Cause.TRANSPORT,
        StopReason.FAULT: Cause.HARNESS,
        StopReason.INTERRUPTED: Cause.HARNESS,
        StopReason.NOT_STARTED: Cause.HARNESS,
    }
    cause = causes.get(ended.stop_reason)
    if cause is not None:
        return [Problem(cause, f"the call ended with {ended.stop_reason}")]
    if trace.last(FinalState) is None:
        return [Problem(Cause.HARNESS, "the trace is incomplete: it holds no final state of the shadows")]
    return []


def _state_problems(trace: Trace) -> list[Problem]:
    problems = []
    for side in Side:
        checks = [event for event in trace.of(StateChecked) if event.side is side]
        if checks and not (checks[-1].equal or checks[-1].repaired):
            problems.append(
                Problem(Cause.SYNC, f"{side} database and its shadow differ since event {checks[-1].seq}, unrepaired")
            )
        failed = [event for event in trace.of(DeltaPushed) if event.side is side and not event.success]
        if failed and not any(check.seq > failed[-1].seq and (check.equal or check.repaired) for check in checks):
            problems.append(Problem(Cause.SYNC, f"a delta for the {side} side failed at event {failed[-1].seq}"))
        problems.extend(_final_problems(trace, side))
    return problems


def _final_problems(trace: Trace, side: Side) -> list[Problem]:
    summary = _summary(trace, side)
    shadow, shadow_digest = _shadow(trace, side)
    if summary is None or shadow is None:
        return []
    expected = contract_hash_of(shadow)
    if summary.db is not None and contract_hash_of(summary.db) != expected:
        lines = "; ".join(differences(shadow, summary.db)[:3])
        return [Problem(Cause.SYNC, f"final {side} database differs from its shadow: {lines}")]
    if summary.digest is not None and shadow_digest is not None and summary.digest != shadow_digest:
        return [Problem(Cause.SYNC, f"final {side} digest differs from its shadow's")]
    if summary.db is None and summary.db_hash is not None and summary.db_hash != expected:
        return [Problem(Cause.SYNC, f"final {side} database hash differs from its shadow's")]
    return []


def _action_problems(trace: Trace) -> list[Problem]:
    problems = []
    for side in Side:
        summary = _summary(trace, side)
        if summary is None:
            continue
        live = [
            _identity(event.action.model_dump(mode="json"))
            for event in trace.of(ActionApplied)
            if event.side is side and event.accepted
        ]
        logged = [_identity(action) for action in summary.actions]
        live, logged = _without_hang_up(live), _without_hang_up(logged)
        if live != logged:
            detail = _first_difference(live, logged)
            problems.append(Problem(Cause.SYNC, f"{side} action log differs from the writes seen live: {detail}"))
    return problems


def _identity(action: dict[str, object]) -> tuple[str, dict[str, object]]:
    arguments = action.get("arguments")
    return str(action.get("name", "")), arguments if isinstance(arguments, dict) else {}


def _without_hang_up(actions: Sequence[tuple[str, dict[str, object]]]) -> list[tuple[str, dict[str, object]]]:
    return [action for action in actions if action[0] != END_CALL_TOOL]


def _first_difference(live: Sequence[Any], logged: Sequence[Any]) -> str:
    for index, (seen, told) in enumerate(zip(live, logged, strict=False), start=1):
        if seen != told:
            return f"write {index} is {seen[0]} live and {told[0]} in the log"
    return f"{len(live)} live, {len(logged)} in the log"
