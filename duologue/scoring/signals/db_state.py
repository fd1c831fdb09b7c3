"""Signal ``db_state_match``: both final databases equal those of gold replay."""

from __future__ import annotations

from duologue.records.action import Side
from duologue.records.outcome import Cause
from duologue.records.scenario import SignalName
from duologue.state.canonical import contract_hash_of, differences
from duologue.toolkit.checks import ENGINE, Finding, check, not_applicable, not_evaluable
from duologue.toolkit.dual_state import DualState
from duologue.toolkit.evidence import MAX_DIFFERENCES, Evidence, ScoringMode


@check(ENGINE, SignalName.DB_STATE_MATCH, version=1)
def check_databases(evidence: Evidence) -> Finding:
    """Compare contract hashes, side by side."""
    if evidence.gold is None or evidence.initial is None:
        return not_evaluable(Cause.HARNESS, evidence.gold_problem)
    if evidence.initial.agent.db is None:
        return not_applicable("the scenario has no database")
    sides = (Side.AGENT,) if evidence.mode is ScoringMode.REFERENCE else evidence.sides()
    expected = {side: _hash(evidence.gold.state, side) for side in sides}
    found = {side: _found_hash(evidence, side) for side in sides}
    report = _report(evidence, sides, expected, found)
    missing = [side for side in sides if found[side] is None]
    if missing and evidence.mode is ScoringMode.DUOLOGUE:
        return not_evaluable(Cause.TRANSPORT, evidence.final[missing[0]].missing, report)
    wrong = [side.value for side in sides if expected[side] != found[side]]
    reason = f"differs on the {' and the '.join(wrong)} side" if wrong else "equal to gold replay"
    initial = {side: _hash(evidence.initial, side) for side in sides}
    return Finding(not wrong, reason, report, holds_initially=initial == expected)


def _hash(state: DualState, side: Side) -> str | None:
    db = state.side(side).db
    return contract_hash_of(db) if db is not None else None


def _found_hash(evidence: Evidence, side: Side) -> str | None:
    final = evidence.final[side]
    if evidence.mode is ScoringMode.REFERENCE:
        return final.reported_hash
    return contract_hash_of(final.db) if final.db is not None else None


def _report(
    evidence: Evidence, sides: tuple[Side, ...], expected: dict[Side, str | None], found: dict[Side, str | None]
) -> dict[str, object]:
    lines: dict[str, list[str]] = {}
    for side in sides:
        gold = evidence.gold.state.side(side).db if evidence.gold is not None else None
        final = evidence.final[side].db
        if gold is not None and final is not None and expected[side] != found[side]:
            lines[side.value] = differences(gold, final)[:MAX_DIFFERENCES]
    return {
        "expected": {side.value: expected[side] for side in sides},
        "found": {side.value: found[side] for side in sides},
        "differences": lines,
        "trace": [seq for side in sides for seq in evidence.final[side].seqs],
    }
