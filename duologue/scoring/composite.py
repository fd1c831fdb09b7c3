"""From verdicts to the outcome of an attempt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from duologue.records.outcome import Cause, Outcome, OutcomeKind, Verdict
from duologue.records.result import Breakdown
from duologue.records.scenario import Scenario, SignalName
from duologue.toolkit.evidence import Problem, ScoringMode


@dataclass(frozen=True, slots=True)
class Composite:
    """The outcome, the same without the clean exit, and which signal went where."""

    outcome: Outcome
    is_task_successful: bool | None
    breakdown: Breakdown


def gating_signals(scenario: Scenario, mode: ScoringMode) -> tuple[str, ...]:
    """Return the signals that gate this scenario.

    The reference harness has no action gate where predicates gate, so its mode drops it there.
    """
    names = scenario.success_signals
    if mode is ScoringMode.REFERENCE and SignalName.DB_STATE_ASSERTION in names:
        return tuple(name for name in names if name != SignalName.ACTION_MATCH)
    return names


def combine(
    verdicts: Sequence[Verdict],
    gates: Sequence[str],
    problems: Sequence[Problem],
    mode: ScoringMode,
    *,
    too_few_turns: bool = False,
    decided: Verdict | None = None,
) -> Composite:
    """Return the outcome of the gating verdicts.

    In order: a problem of the attempt decides; then missing evidence, except that a failed gate stands
    against a missing judge; then too few turns and failed gates; then gates that ask for nothing. What is
    left has passed.

    ``decided`` is the verdict of a graded check: it decides alone, by rules of its own, and ``verdicts`` and ``gates``
    are what it shows.
    """
    breakdown = break_down(verdicts, gates)
    if decided is not None:
        outcome = _outcome([decided], [decided.signal], problems, mode, False)
        detail = outcome.detail if problems else outcome.detail.removeprefix(f"{decided.signal}: ")
        outcome = outcome.model_copy(update={"detail": detail})
        return Composite(outcome, _task([decided], outcome, mode, False), breakdown)
    gating = [verdict for verdict in verdicts if verdict.signal in gates]
    outcome = _outcome(gating, gates, problems, mode, too_few_turns)
    return Composite(outcome, _task(gating, outcome, mode, too_few_turns), breakdown)


def break_down(verdicts: Sequence[Verdict], gates: Sequence[str]) -> Breakdown:
    """Return which signal went where."""
    gating = [verdict for verdict in verdicts if verdict.signal in gates]
    return Breakdown(
        passed=tuple(item.signal for item in gating if item.passed is True),
        failed=tuple(item.signal for item in gating if item.passed is False),
        not_applicable=tuple(item.signal for item in gating if item.passed is None and item.evaluable),
        not_evaluable=tuple(item.signal for item in gating if not item.evaluable),
        excluded=tuple(item.signal for item in verdicts if item.signal not in gates and item.passed is not None),
    )


def _outcome(
    gating: Sequence[Verdict], gates: Sequence[str], problems: Sequence[Problem], mode: ScoringMode, too_few: bool
) -> Outcome:
    if problems:
        return _not_evaluable(problems[0].cause, problems[0].detail)
    failed = [verdict for verdict in gating if verdict.passed is False]
    missing = [verdict for verdict in gating if not verdict.evaluable]
    decisive = [verdict for verdict in missing if verdict.cause is not Cause.JUDGE]
    for verdict in decisive or ([] if failed or too_few else missing):
        return _not_evaluable(verdict.cause or Cause.HARNESS, f"{verdict.signal}: {verdict.reason}")
    if too_few:
        return Outcome(kind=OutcomeKind.FAILED, detail="the agent took too few turns")
    if failed:
        return Outcome(
            kind=OutcomeKind.FAILED, detail="; ".join(f"{verdict.signal}: {verdict.reason}" for verdict in failed)
        )
    return _passed_or_vacuous(gating, gates, mode)


def _passed_or_vacuous(gating: Sequence[Verdict], gates: Sequence[str], mode: ScoringMode) -> Outcome:
    passed = [verdict for verdict in gating if verdict.passed is True]
    if mode is ScoringMode.REFERENCE:
        if passed:
            return Outcome(kind=OutcomeKind.PASSED)
        return _not_evaluable(Cause.HARNESS, "no gating signal applies")
    idle = sorted(set(gates) - {verdict.signal for verdict in passed})
    if idle:
        return _not_evaluable(Cause.HARNESS, f"gating signals without a verdict: {', '.join(idle)}")
    if not _earned(passed):
        return _not_evaluable(Cause.HARNESS, "every gate already holds before the call: the scenario asks for nothing")
    return Outcome(kind=OutcomeKind.PASSED)


def _earned(passed: Sequence[Verdict]) -> bool:
    """Return whether at least one check besides the clean exit did not hold from the start."""
    return any(verdict.signal != SignalName.CLEAN_EXIT and not verdict.holds_initially for verdict in passed)


def _task(gating: Sequence[Verdict], outcome: Outcome, mode: ScoringMode, too_few: bool) -> bool | None:
    if outcome.kind is OutcomeKind.NOT_EVALUABLE:
        return None
    if too_few:
        return False
    real = [verdict for verdict in gating if verdict.signal != SignalName.CLEAN_EXIT and verdict.passed is not None]
    if any(verdict.passed is False for verdict in real):
        return False
    if mode is ScoringMode.REFERENCE:
        return True
    if any(not verdict.evaluable for verdict in gating):
        return None
    return True if _earned([verdict for verdict in real if verdict.passed]) else None


def _not_evaluable(cause: Cause, detail: str) -> Outcome:
    return Outcome(kind=OutcomeKind.NOT_EVALUABLE, cause=cause, detail=detail)
