"""Wrong plans: the reference solution with one step dropped, altered or added.

A mutant is chosen by replay, so that the scenario's own signals fail on what it reaches: a step without
effect makes no mutant. Candidates come from the domain's registered tools, and a caller's step needs words
in the domain's phrasebook, or nobody could ask for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from duologue.errors import RegistryError, ScenarioError, ToolError
from duologue.records.action import ReferenceAction, Side
from duologue.records.scenario import Scenario, SignalName
from duologue.scoring.signals.action_match import arguments_match, match_rules
from duologue.scoring.signals.db_assertions import ask_predicate
from duologue.scoring.signals.matching import assign
from duologue.state.canonical import contract_hash
from duologue.toolkit.dual_state import DualState, replay_reference, tool_settings
from duologue.toolkit.phrasebook import PHRASEBOOKS
from duologue.toolkit.rules import RULES_NAME
from duologue.toolkit.tool import END_CALL_TOOL, Tool, ToolKind, find_tool, side_tools

MUTATION_KINDS = ("drop", "alter", "add")

Plan = list[ReferenceAction]
Generator = Callable[[Scenario], Iterable[Plan]]


def build_mutants(scenario: Scenario, kinds: Sequence[str] = MUTATION_KINDS) -> dict[str, Plan]:
    """Return for each of ``kinds`` the first wrong plan on which the scenario's signals fail.

    Raises:
        ScenarioError: no candidate of a kind makes them fail.
    """
    start = DualState.for_scenario(scenario)
    return {kind: _first_failing(scenario, kind, start) for kind in kinds}


def _first_failing(scenario: Scenario, kind: str, start: DualState) -> Plan:
    for plan in _GENERATORS[kind](scenario):
        if plan_fails(scenario, plan, start):
            return plan
    raise ScenarioError(f"{scenario.name}: no {kind} mutant makes its signals fail")


def plan_fails(scenario: Scenario, plan: Sequence[ReferenceAction], start: DualState) -> bool:
    """Return whether the state and the actions that ``plan`` reaches from a copy of ``start`` fail a signal.

    Steps that a tool refuses change nothing and count as not done; the plan goes on.
    """
    user = start.user.copy() if start.user is not None else None
    dual = DualState(scenario.domain, start.agent.copy(), user, tools=tool_settings(scenario))
    done: Plan = []
    for step in plan:
        if _tool(scenario, step).exit_text:
            done.append(step)
            break
        try:
            if dual.invoke(step.side, step.name, step.arguments).ok:
                done.append(step)
            dual.sync()
        except (RegistryError, ToolError):
            continue
    return not _holds(scenario, dual, done)


def _holds(scenario: Scenario, dual: DualState, done: Plan) -> bool:
    for assertion in scenario.db_state_assertions:
        db = dual.side(assertion.side).db
        if db is None or ask_predicate(scenario.domain, assertion, db).passed is not True:
            return False
    if SignalName.DB_STATE_MATCH in scenario.success_signals:
        gold = replay_reference(scenario).state
        if contract_hash(gold.agent.db) != contract_hash(dual.agent.db):
            return False
    return SignalName.ACTION_MATCH not in scenario.success_signals or _are_done(scenario, done)


def _are_done(scenario: Scenario, done: Plan) -> bool:
    rules, steps = match_rules(scenario), scenario.reference_actions

    def fits(row: int, deed: ReferenceAction) -> bool:
        step = steps[row]
        same = deed.name == step.name and deed.side is step.side
        return same and arguments_match(scenario.domain, step, deed.arguments, rules)

    return None not in assign(len(steps), done, fits)


def _dropped(scenario: Scenario) -> Iterator[Plan]:
    plan = list(scenario.reference_actions)
    for index in range(len(plan)):
        yield plan[:index] + plan[index + 1 :]


def _altered(scenario: Scenario) -> Iterator[Plan]:
    plan = list(scenario.reference_actions)
    pool = _values_by_name(scenario)
    for index, step in enumerate(plan):
        for arguments in _changed_arguments(scenario, step, pool):
            yield [*plan[:index], step.model_copy(update={"arguments": arguments}), *plan[index + 1 :]]
    for index, step in enumerate(plan):
        for other in _writes(scenario, step.side, pool):
            if other.name != step.name:
                yield [*plan[:index], other, *plan[index + 1 :]]


def _extended(scenario: Scenario) -> Iterator[Plan]:
    plan = list(scenario.reference_actions)
    end = _end_of_work(scenario, plan)
    pool = _values_by_name(scenario)
    for side in Side:
        for extra in _writes(scenario, side, pool):
            yield [*plan[:end], extra, *plan[end:]]
    hang_up = ReferenceAction(action_id=f"{END_CALL_TOOL}_extra", side=Side.AGENT, name=END_CALL_TOOL)
    yield [*plan[:end], hang_up, *plan[end:]]


_GENERATORS: dict[str, Generator] = {"drop": _dropped, "alter": _altered, "add": _extended}


def _tool(scenario: Scenario, step: ReferenceAction) -> Tool:
    return find_tool(scenario.domain, step.name, scenario.side(step.side).resources.tools.get(step.name))


def _end_of_work(scenario: Scenario, plan: Plan) -> int:
    """Return the index of the first step that ends the call, or the length of the plan."""
    return next((index for index, step in enumerate(plan) if _tool(scenario, step).exit_text), len(plan))


def _changed_arguments(
    scenario: Scenario, step: ReferenceAction, pool: dict[str, list[Any]]
) -> Iterator[dict[str, object]]:
    tool = _tool(scenario, step)
    compared = step.arguments if step.compare_args is None else step.compare_args
    for name in compared:
        for value in _other_values(tool, name, step.arguments.get(name), pool):
            arguments = {**step.arguments, name: value}
            if _can_be_asked(scenario.domain, step.side, step.name, arguments):
                yield arguments


def _other_values(tool: Tool, name: str, value: object, pool: dict[str, list[object]]) -> list[object]:
    candidates = [*tool.properties.get(name, {}).get("enum", []), *pool.get(name, [])]
    if isinstance(value, int | float) and not isinstance(value, bool):
        candidates = [value / 2, value + 1]
    return [candidate for candidate in candidates if candidate != value]


def _writes(scenario: Scenario, side: Side, pool: dict[str, list[object]]) -> Iterator[ReferenceAction]:
    """Yield one call of every write tool of ``side`` for which arguments are at hand."""
    for name, tool in side_tools(scenario.domain, side).items():
        if tool.kind is not ToolKind.WRITE:
            continue
        for arguments in _argument_sets(scenario.domain, side, tool, pool):
            yield ReferenceAction(action_id=f"{name}_extra", side=side, name=name, arguments=arguments)


def _argument_sets(domain: str, side: Side, tool: Tool, pool: dict[str, list[object]]) -> Iterable[dict[str, object]]:
    book = PHRASEBOOKS.find(domain, RULES_NAME)
    if side is Side.USER and book is not None:
        return [dict(request.arguments) for request in book.requests if request.tool == tool.name]
    values = {name: (_other_values(tool, name, None, pool) or _samples(tool, name)) for name in tool.required}
    return [{name: options[0] for name, options in values.items()}] if all(values.values()) else []


def _samples(tool: Tool, name: str) -> list[object]:
    kind = tool.properties.get(name, {}).get("type")
    samples: dict[str, list[object]] = {"string": ["none given"], "number": [1.0], "integer": [1], "boolean": [True]}
    return samples.get(str(kind), [])


def _can_be_asked(domain: str, side: Side, name: str, arguments: dict[str, object]) -> bool:
    book = PHRASEBOOKS.find(domain, RULES_NAME)
    return side is Side.AGENT or book is None or book.request(name, arguments) is not None


def _values_by_name(scenario: Scenario) -> dict[str, list[object]]:
    """Return plausible values of arguments by name: the scenario's own first, then the databases'."""
    pool: dict[str, list[object]] = {}
    for step in scenario.reference_actions:
        _collect(step.arguments, pool)
    for action in scenario.initialization_actions:
        _collect(action.arguments, pool)
    _collect(scenario.agent.facts, pool)
    start = DualState.for_scenario(scenario)
    _collect(start.agent.db, pool)
    _collect(start.side(Side.USER).db, pool)
    return pool


def _collect(value: object, pool: dict[str, list[object]]) -> None:
    if isinstance(value, dict):
        for name, item in value.items():
            if isinstance(item, str | int | float) and item not in pool.setdefault(str(name), []):
                pool[str(name)].append(item)
            else:
                _collect(item, pool)
    elif isinstance(value, list):
        for item in value:
            _collect(item, pool)
