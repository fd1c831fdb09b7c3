"""Signal ``is_action_match``: every reference action was performed."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from duologue.errors import RegistryError
from duologue.records.action import RecordedAction, ReferenceAction, Side
from duologue.records.event import SummaryPulled, ToolCalled, ToolReturned
from duologue.records.outcome import Cause
from duologue.records.scenario import Scenario, SignalName
from duologue.scoring.signals.matching import MatchRules, assign, values_match
from duologue.scoring.signals.reference_match import reference_match
from duologue.toolkit.checks import ENGINE, Finding, check, not_applicable, not_evaluable
from duologue.toolkit.evidence import Evidence, ScoringMode
from duologue.toolkit.tool import END_CALL_TOOL, find_tool


@dataclass(frozen=True, slots=True)
class _Deed:
    """Something a side did: a recorded write, or a tool call that leaves no record."""

    seq: int
    side: Side
    name: str
    arguments: dict[str, Any]
    is_recorded: bool


@check(ENGINE, SignalName.ACTION_MATCH, version=1)
def check_actions(evidence: Evidence) -> Finding:
    """Match reference actions with what was done, one to one."""
    scenario = evidence.scenario
    if not scenario.reference_actions and not scenario.disallow_extra_items:
        return _empty_reference(scenario)
    if evidence.gold is None:
        return not_evaluable(Cause.HARNESS, evidence.gold_problem)
    if evidence.mode is ScoringMode.REFERENCE:
        return _as_reference(evidence, evidence.gold.actions)
    return _exactly(evidence, evidence.gold.actions)


def match_rules(scenario: Scenario) -> MatchRules:
    """Return how this scenario compares texts."""
    return MatchRules(scenario.ignore_capitalization, scenario.ignore_punctuation, scenario.clean_text)


def _empty_reference(scenario: Scenario) -> Finding:
    if SignalName.ACTION_MATCH in scenario.success_signals:
        return not_evaluable(Cause.HARNESS, "the scenario gates on actions but its reference has none")
    return not_applicable("the scenario has no reference actions")


def _exactly(evidence: Evidence, gold: Sequence[RecordedAction]) -> Finding:
    scenario, rules = evidence.scenario, match_rules(evidence.scenario)
    steps = list(zip(scenario.reference_actions, _recorded_steps(scenario, gold), strict=True))
    deeds = _deeds(evidence)

    def fits(row: int, deed: _Deed) -> bool:
        step, is_recorded = steps[row]
        return (
            deed.is_recorded == is_recorded
            and deed.side is step.side
            and deed.name == step.name
            and arguments_match(scenario.domain, step, deed.arguments, rules)
        )

    placed = assign(len(steps), deeds, fits)
    used = {index for index in placed if index is not None}
    missing = [step.action_id for (step, _), index in zip(steps, placed, strict=True) if index is None]
    extra = [deed.seq for index, deed in enumerate(deeds) if deed.is_recorded and index not in used]
    passed = not missing and not (scenario.disallow_extra_items and extra)
    return Finding(
        passed,
        _reason(missing, extra if scenario.disallow_extra_items else []),
        {
            "expected": [_expected(step, is_recorded) for step, is_recorded in steps],
            "found": [_found(deed) for deed in deeds if deed.is_recorded],
            "matched": {
                step.action_id: deeds[index].seq
                for (step, _), index in zip(steps, placed, strict=True)
                if index is not None
            },
            "missing": missing,
            "extra": extra,
            "trace": sorted(deeds[index].seq for index in used),
        },
        score=len(used) / len(steps) if steps else None,
        holds_initially=not steps,
    )


def _reason(missing: Sequence[str], extra: Sequence[int]) -> str:
    parts = []
    if missing:
        parts.append(f"not done: {', '.join(missing)}")
    if extra:
        parts.append(f"writes beyond the reference at events {', '.join(map(str, extra))}")
    return "; ".join(parts) or "every reference action was done"


def _expected(step: ReferenceAction, is_recorded: bool) -> dict[str, object]:
    return {**step.model_dump(mode="json"), "recorded": is_recorded}


def _found(deed: _Deed) -> dict[str, object]:
    return {"seq": deed.seq, "side": deed.side.value, "name": deed.name, "arguments": deed.arguments}


def _recorded_steps(scenario: Scenario, gold: Sequence[RecordedAction]) -> list[bool]:
    """Return for each reference step whether gold replay recorded it; reads and no-ops leave no record."""
    flags, position = [], 0
    for step in scenario.reference_actions:
        record = gold[position] if position < len(gold) else None
        is_recorded = record is not None and (record.side, record.name, record.arguments) == (
            step.side,
            step.name,
            step.arguments,
        )
        position += is_recorded
        flags.append(is_recorded)
    return flags


def _deeds(evidence: Evidence) -> list[_Deed]:
    """Return the accepted writes, and the tool calls that returned without an error."""
    deeds = [
        _Deed(item.seq, item.side, item.action.name, item.action.arguments, True)
        for item in evidence.actions
        if item.action.name != END_CALL_TOOL
    ]
    answered = {
        (event.side, event.call_id)
        for event in evidence.trace.of(ToolReturned)
        if not event.cancelled and not _is_error(event.result)
    }
    calls = [
        _Deed(event.seq, event.side, event.name, event.arguments, False)
        for event in evidence.trace.of(ToolCalled)
        if (event.side, event.call_id) in answered
    ]
    return deeds + calls


def _is_error(result: object) -> bool:
    return isinstance(result, dict) and (result.get("status") == "error" or "error" in result)


def arguments_match(domain: str, step: ReferenceAction, found: dict[str, object], rules: MatchRules) -> bool:
    """Return whether ``found`` has the step's arguments, as its ``compare_args`` asks.

    Arguments left out count with the tool's defaults.
    """
    expected, actual = _with_defaults(domain, step.name, step.arguments), _with_defaults(domain, step.name, found)
    if step.compare_args is None:
        return values_match(expected, actual, rules)
    return all(
        key in expected and key in actual and values_match(expected[key], actual[key], rules)
        for key in step.compare_args
    )


def _with_defaults(domain: str, name: str, arguments: dict[str, object]) -> dict[str, object]:
    try:
        body = find_tool(domain, name).body
    except RegistryError:
        return arguments
    parameters = list(inspect.signature(body).parameters.values())[1:]
    defaults = {item.name: item.default for item in parameters if item.default is not inspect.Parameter.empty}
    return {**defaults, **arguments}


def _as_reference(evidence: Evidence, gold: Sequence[RecordedAction]) -> Finding:
    scenario = evidence.scenario
    summaries = evidence.trace.of(SummaryPulled)
    reference = {"actions": [_record(action.model_dump(mode="json"), action.side) for action in gold]}
    prediction = {
        "actions": [
            _record(action, summary.side)
            for side in Side
            for summary in summaries
            if summary.side is side
            for action in summary.actions
        ]
    }
    if not summaries:
        return Finding(False, "no summary was pulled", {"expected": reference["actions"], "found": []})
    same_length = scenario.disallow_extra_items
    passed = reference_match([reference], [prediction], match_rules(scenario), same_length=same_length)
    return Finding(
        passed,
        "compared as the reference harness does",
        {
            "expected": reference["actions"],
            "found": prediction["actions"],
            "trace": [summary.seq for summary in summaries],
        },
    )


def _record(action: dict[str, object], side: Side | None) -> dict[str, object]:
    kept = {key: value for key, value in action.items() if key not in ("seq", "epoch")}
    return {**kept, "side": side.value if side is not None else Side.AGENT.value}
