"""Making the checks of an attempt, and the questions that they have for a judge, round by round."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import NamedTuple

from duologue.records.judgement import Judgement, JudgeQuestion
from duologue.records.outcome import Cause, Verdict
from duologue.scoring.caller import fidelity
from duologue.scoring.signals import action_match, clean_exit, db_assertions, db_state, judge_passed, nl_assertions
from duologue.toolkit.checks import ENGINE, Ask, Check, Finding, Grade, choose_checks, not_evaluable
from duologue.toolkit.evidence import Answers, Evidence, Problem

CHECK_MODULES = (action_match, db_state, db_assertions, nl_assertions, judge_passed, clean_exit, fidelity)
"""The modules that define the engine's own checks."""

MAX_ROUNDS = 5
"""How often the checks of an attempt may ask a judge."""

logger = logging.getLogger(__name__)


class OpenQuestion(NamedTuple):
    """A question without an answer; ``check`` is who asks, empty for a graded check (it decides alone)."""

    check: str
    question: JudgeQuestion


@dataclass(frozen=True, slots=True)
class Checked:
    """What the checks found, by what they mean. ``decided`` and ``grade`` belong to a graded check."""

    verdicts: tuple[Verdict, ...]
    caller: tuple[Verdict, ...]
    reports: tuple[Verdict, ...]
    problems: tuple[Problem, ...]
    decided: Verdict | None = None
    grade: Grade | None = None


def run_checks(evidence: Evidence, judgement: Judgement | None) -> Checked:
    """Make every check of the scenario. ``judgement`` is None when no judge was wanted.

    Raises:
        RegistryError: the scenario names a check that is not there.
    """
    chosen = choose_checks(evidence.scenario)
    voiding = [(item, found) for item in chosen.evaluability if (found := _find(item, evidence, judgement))]
    problems = tuple(
        Problem(item.cause, f"{item.name}: {found.reason}") for item, found in voiding if found.passed is False
    )
    gating = [(item, found) for item in chosen.gating if (found := _find(item, evidence, judgement))]
    reports = [(item, found) for item in chosen.reports if (found := _find(item, evidence, judgement))]
    verdicts = tuple(item.verdict(found) for item, found in gating)
    decided, grade = None, None
    if chosen.graded is not None:
        found = gating[0][1] if gating else not_evaluable(Cause.HARNESS, "the graded check found nothing")
        decided = chosen.graded.verdict(found)
        grade = found.grade or Grade((decided,), (decided.signal,))
        verdicts = grade.verdicts
    return Checked(
        verdicts,
        tuple(item.verdict(found) for item, found in voiding),
        tuple(item.verdict(found) for item, found in reports),
        problems,
        decided,
        grade,
    )


def open_questions(evidence: Evidence, judgement: Judgement) -> list[OpenQuestion]:
    """Return what the checks ask next, given the answers so far."""
    asked = []
    for item in choose_checks(evidence.scenario).all:
        found, answers = _run(item, evidence, judgement)
        if isinstance(found, Ask):
            key = _key(item)
            asked += [OpenQuestion(key, question) for question in found.questions if not answers.reply(question.name)]
    return asked


def _find(item: Check, evidence: Evidence, judgement: Judgement | None) -> Finding | None:
    found, answers = _run(item, evidence, judgement)
    if not isinstance(found, Ask):
        return found
    names = [question.name for question in found.questions if answers.reply(question.name) is None]
    if not answers.has_judge:
        problem = "the check needs a judge"
    elif not names:
        problem = "the check asks again what the judge has answered"
    elif max((reply.round for reply in answers.replies), default=0) >= MAX_ROUNDS:
        return not_evaluable(Cause.JUDGE, f"the check still asks after {MAX_ROUNDS} rounds of questions")
    else:
        problem = f"the judge was not asked about {', '.join(names)}"
    return found.otherwise or not_evaluable(Cause.JUDGE, problem)


def _run(item: Check, evidence: Evidence, judgement: Judgement | None) -> tuple[Finding | Ask | None, Answers]:
    replies = judgement.replies if judgement is not None else ()
    answers = Answers(judgement is not None, tuple(reply for reply in replies if reply.check == _key(item)))
    own = replace(evidence, answers=answers)
    if item.domain == ENGINE:
        return item.body(own), answers
    try:
        return item.body(own), answers
    except Exception as error:
        logger.exception("a check broke", extra={"check": item.name})
        return not_evaluable(Cause.HARNESS, f"the check broke: {type(error).__name__}: {error}"), answers


def _key(item: Check) -> str:
    return "" if item.graded else item.name
