"""Both sides' states together: the shadow of a call, and gold replay.

The bridge's shadow, gold replay, the text channel and the conformance checker all use this class, and
bots use the same tool objects and appliers, so that they agree to the byte.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from duologue.errors import InitializationFailed, RegistryError, ScenarioError, ToolError
from duologue.records.action import RecordedAction, Side
from duologue.records.scenario import Scenario, WorldEvent
from duologue.state.side_state import SideState
from duologue.toolkit.initialization import initialize
from duologue.toolkit.ledger import Ledger
from duologue.toolkit.results import ToolOutcome
from duologue.toolkit.rules import RULES_NAME, SYNC_RULES, Deltas
from duologue.toolkit.side_host import SideHost, find_tools
from duologue.toolkit.tool import find_tool
from duologue.toolkit.world import apply_world_event

__all__ = ["DualState", "GoldReplay", "replay_reference"]


@dataclass(slots=True)
class DualState:
    """The agent's and (for dual-side domains) the user's state, kept in sync.

    ``tools`` holds the settings of tools that a scenario brings along, by side and name.
    """

    domain: str
    agent: SideState
    user: SideState | None = None
    ledgers: dict[Side, Ledger] = field(default_factory=lambda: {side: Ledger() for side in Side})
    tools: dict[Side, dict[str, dict[str, Any]]] = field(default_factory=dict)

    @classmethod
    def for_scenario(cls, scenario: Scenario, *, epoch: str | None = None) -> DualState:
        """Return both sides initialized as the scenario says, after the first sync.

        Raises:
            InitializationFailed: an initialization function failed; nothing is half done.
        """
        states = {side: SideState(scenario.domain, profile=scenario.profile) for side in Side}
        rules = SYNC_RULES.find(scenario.domain, RULES_NAME)
        is_stepwise = rules is not None and scenario.profile in rules.stepwise_profiles
        for side in Side:
            actions = [action for action in scenario.initialization_actions if action.side is side]
            try:
                initialize(states[side], dict(scenario.side(side).shared_state), [] if is_stepwise else actions)
            except InitializationFailed as error:
                raise InitializationFailed(f"{scenario.name}, {side} side: {error}") from error
        user = states[Side.USER] if scenario.has_user_state else None
        ledgers = {side: Ledger(epoch) for side in Side}
        dual = cls(scenario.domain, states[Side.AGENT], user, ledgers, tool_settings(scenario))
        try:
            dual.sync()
            for action in scenario.initialization_actions if is_stepwise else ():
                initialize(dual.side(action.side), {}, [action])
                dual.sync()
        except (InitializationFailed, ToolError) as error:
            raise InitializationFailed(f"{scenario.name}: {error}") from error
        return dual

    def side(self, side: Side) -> SideState:
        """Return one side's state; a side without a database has an empty one."""
        if side is Side.AGENT:
            return self.agent
        return self.user if self.user is not None else SideState(self.domain)

    def host(self, side: Side) -> SideHost:
        """Return ``side`` as a host of its tools, on this state and this log.

        Raises:
            RegistryError: the scenario names a tool that its domain lacks.
        """
        return SideHost(self.side(side), self.ledgers[side], find_tools(self.domain, self.tools.get(side, {})))

    def sync(self) -> Deltas:
        """Reconcile the two databases in place and return what changed; nothing for single-side domains."""
        rules = SYNC_RULES.find(self.domain, RULES_NAME)
        if rules is None or self.user is None:
            return Deltas()
        return rules.sync(self.agent, self.user)

    def happen(self, kind: str, data: Mapping[str, object]) -> None:
        """Let a world event change every side that has a database, without syncing: all of them, or none.

        Raises:
            RegistryError: the domain knows no such event.
            ToolError: a side refused it.
        """
        before = {side: self.side(side).copy() for side in Side}
        try:
            for side in Side:
                if self.side(side).db is not None:
                    apply_world_event(self.side(side), side, kind, data)
        except (RegistryError, ToolError):
            for side, state in before.items():
                self.side(side).db, self.side(side).memory = state.db, state.memory
            raise

    def invoke(self, side: Side, name: str, arguments: Mapping[str, object]) -> ToolOutcome:
        """Run a tool for ``side`` without syncing, and record it when it is a write.

        Raises:
            RegistryError: ``side`` has no such tool, or it is async.
        """
        tool = find_tool(self.domain, name, self.tools.get(side, {}).get(name))
        if tool.side not in (None, side):
            raise RegistryError(f"tool {name!r} belongs to the {tool.side} side, not to the {side} side")
        if tool.is_async:
            raise RegistryError(f"tool {name!r} is async: it is run in a call, and never replayed")
        outcome = tool.invoke(self.side(side), arguments)
        if outcome.is_recorded:
            self.ledgers[side].record(tool, dict(arguments), outcome)
        return outcome

    def digests(self) -> dict[Side, str | None]:
        """Return both digests."""
        return {side: self.side(side).digest() for side in Side}


def tool_settings(scenario: Scenario) -> dict[Side, dict[str, dict[str, object]]]:
    """Return the settings of both sides' tools by side and name, for the ``tools`` of a state."""
    return {side: scenario.side(side).resources.tools for side in Side}


@dataclass(frozen=True, slots=True)
class GoldReplay:
    """The end state that the reference solution reaches."""

    state: DualState
    actions: tuple[RecordedAction, ...]


def replay_reference(
    scenario: Scenario, start: DualState | None = None, events: Sequence[WorldEvent] | None = None
) -> GoldReplay:
    """Run the scenario's reference actions and world events on its initial state, with a sync after each.

    ``start`` is that state when it is already at hand (it is changed in place); otherwise it is built. ``events`` are
    those that happened; all of the scenario's, unless given.

    Raises:
        ScenarioError: the scenario is broken: a step is unknown or async, or a tool refused it.
    """
    dual = start if start is not None else DualState.for_scenario(scenario)
    actions: list[RecordedAction] = []
    due = list(scenario.world_events if events is None else events)
    for step in scenario.reference_actions:
        _happen(scenario, dual, [event for event in due if event.before == step.action_id])
        try:
            outcome = dual.invoke(step.side, step.name, step.arguments)
        except RegistryError as error:
            raise ScenarioError(f"{scenario.name}: reference action {step.action_id}: {error}") from error
        if not outcome.ok:
            raise ScenarioError(f"{scenario.name}: reference action {step.action_id} failed: {outcome.value}")
        if outcome.is_recorded:
            actions.append(dual.ledgers[step.side].actions[-1].model_copy(update={"side": step.side}))
        try:
            dual.sync()
        except ToolError as error:
            raise ScenarioError(f"{scenario.name}: sync after {step.action_id} failed: {error}") from error
    _happen(scenario, dual, [event for event in due if not event.before])
    return GoldReplay(dual, tuple(actions))


def unplayable_steps(scenario: Scenario) -> tuple[str, ...]:
    """Return the ids of the reference actions that no replay can make, because their tools are async.

    Raises:
        RegistryError: the scenario names a tool that its domain lacks.
    """
    settings = tool_settings(scenario)
    return tuple(
        step.action_id
        for step in scenario.reference_actions
        if find_tool(scenario.domain, step.name, settings[step.side].get(step.name)).is_async
    )


def _happen(scenario: Scenario, dual: DualState, events: Sequence[WorldEvent]) -> None:
    for event in events:
        try:
            dual.happen(event.kind, event.data)
            dual.sync()
        except (RegistryError, ToolError) as error:
            raise ScenarioError(f"{scenario.name}: world event {event.kind}: {error}") from error
