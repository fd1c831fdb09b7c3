"""Attempts that a grader of the domain scores instead of the signals."""

from __future__ import annotations

from collections.abc import Sequence

from duologue.records.judgement import Judgement
from duologue.records.outcome import Cause, Outcome, OutcomeKind
from duologue.scoring.composite import Composite, break_down
from duologue.scoring.evidence import Problem
from duologue.toolkit.grading import GRADERS, Grade, GradingInput
from duologue.trace.reader import Trace


def grade_trace(trace: Trace, judgement: Judgement | None) -> Grade | None:
    """Return the grade of the grader that the scenario names, or None when it names none.

    Raises:
        RegistryError: the domain has no such grader.
    """
    scenario = trace.header.scenario
    if not scenario.grader:
        return None
    return GRADERS.get(scenario.domain, scenario.grader).grade(GradingInput(trace, judgement))


def combine_grade(grade: Grade, problems: Sequence[Problem]) -> Composite:
    """Return the outcome of a grade: a problem of the attempt decides first, then the grader."""
    breakdown = break_down(grade.verdicts, grade.gates)
    if problems:
        outcome = Outcome(kind=OutcomeKind.NOT_EVALUABLE, cause=problems[0].cause, detail=problems[0].detail)
    elif grade.passed is None:
        cause = grade.cause or Cause.HARNESS
        outcome = Outcome(kind=OutcomeKind.NOT_EVALUABLE, cause=cause, detail=grade.detail)
    elif grade.passed:
        outcome = Outcome(kind=OutcomeKind.PASSED)
    else:
        outcome = Outcome(kind=OutcomeKind.FAILED, detail=grade.detail)
    is_task_successful = None if outcome.kind is OutcomeKind.NOT_EVALUABLE else grade.passed
    return Composite(outcome, is_task_successful, breakdown)
