"""Signal ``db_state_assertion``: predicates hold on the final databases."""

from __future__ import annotations

import copy
from dataclasses import asdict, dataclass
from typing import Any

from duologue.errors import DuologueError
from duologue.records.action import DbAssertion
from duologue.records.outcome import Cause
from duologue.records.scenario import SignalName
from duologue.toolkit.checks import ENGINE, Finding, check, not_applicable, not_evaluable
from duologue.toolkit.dual_state import DualState
from duologue.toolkit.evidence import Evidence, ScoringMode
from duologue.toolkit.rules import PREDICATES


@dataclass(frozen=True, slots=True)
class PredicateVerdict:
    """What one predicate returned. ``passed`` is None when it could not be asked."""

    func_name: str
    side: str
    passed: bool | None
    expected: Any
    actual: object
    message: str | None
    error: str | None


@check(ENGINE, SignalName.DB_STATE_ASSERTION, version=2)
def check_predicates(evidence: Evidence) -> Finding:
    """Ask every predicate of the scenario about the final database of its side."""
    assertions = evidence.scenario.db_state_assertions
    if not assertions:
        return not_applicable("the scenario has no database assertions")
    verdicts = [_ask_final(evidence, assertion) for assertion in assertions]
    report = {
        "expected": [verdict.expected for verdict in verdicts],
        "found": [verdict.actual for verdict in verdicts],
        "verdicts": [asdict(verdict) for verdict in verdicts],
        "trace": sorted({seq for item in assertions for seq in evidence.final[item.side].seqs}),
    }
    if evidence.mode is ScoringMode.DUOLOGUE:
        problem = _missing_evidence(evidence, verdicts)
        if problem is not None:
            return not_evaluable(*problem, report)
    held = sum(verdict.passed is True for verdict in verdicts)
    failed = [verdict.func_name for verdict in verdicts if verdict.passed is not True]
    return Finding(
        held == len(verdicts),
        f"not as asserted: {', '.join(failed)}" if failed else f"all {held} hold",
        report,
        score=held / len(verdicts),
        holds_initially=_all_hold(evidence.initial, evidence, assertions),
    )


def _ask_final(evidence: Evidence, assertion: DbAssertion) -> PredicateVerdict:
    final = evidence.final[assertion.side]
    if final.db is None:
        missing = None if evidence.mode is ScoringMode.DUOLOGUE else False
        return _verdict(assertion, missing, None, final.missing)
    verdict = ask_predicate(evidence.scenario.domain, assertion, final.db)
    if verdict.error is None or evidence.mode is ScoringMode.REFERENCE:
        return verdict
    decidable = _on_gold(evidence, assertion)
    return verdict if decidable else _verdict(assertion, None, None, verdict.error)


def _on_gold(evidence: Evidence, assertion: DbAssertion) -> bool:
    """Return whether the predicate can be asked where the reference solution ends."""
    db = evidence.gold.state.side(assertion.side).db if evidence.gold is not None else None
    return db is not None and ask_predicate(evidence.scenario.domain, assertion, db).error is None


def ask_predicate(domain: str, assertion: DbAssertion, db: dict[str, object]) -> PredicateVerdict:
    """Ask one predicate about a database; an unknown predicate, a refusal or a crash is an ``error``."""
    try:
        function = PREDICATES.get(domain, assertion.func_name)
        actual: object = function(copy.deepcopy(db), **copy.deepcopy(assertion.arguments))
    except DuologueError as error:
        return _verdict(assertion, False, None, f"{type(error).__name__}: {error}")
    except Exception as error:  # noqa: BLE001 - a domain's predicate met a database it was not written for
        return _verdict(assertion, False, None, f"{type(error).__name__}: {error}")
    if not isinstance(actual, bool):
        return _verdict(assertion, False, repr(actual), "the predicate did not return true or false")
    return _verdict(assertion, actual == assertion.assert_value, actual, None)


def _verdict(assertion: DbAssertion, passed: bool | None, actual: object, error: str | None) -> PredicateVerdict:
    return PredicateVerdict(
        func_name=assertion.func_name,
        side=assertion.side.value,
        passed=passed,
        expected=assertion.assert_value,
        actual=actual,
        message=assertion.message,
        error=error,
    )


def _missing_evidence(evidence: Evidence, verdicts: list[PredicateVerdict]) -> tuple[Cause, str] | None:
    for verdict, assertion in zip(verdicts, evidence.scenario.db_state_assertions, strict=True):
        if verdict.passed is None:
            has_db = evidence.final[assertion.side].db is not None
            cause = Cause.HARNESS if has_db else Cause.TRANSPORT
            return cause, f"{assertion.func_name}: {verdict.error}"
    return None


def _all_hold(state: DualState | None, evidence: Evidence, assertions: tuple[DbAssertion, ...]) -> bool:
    if state is None:
        return True
    domain = evidence.scenario.domain
    for assertion in assertions:
        db = state.side(assertion.side).db
        if db is None or ask_predicate(domain, assertion, db).passed is not True:
            return False
    return True
