"""Graders and run reports: how a domain scores by rules of its own, and what it writes about a whole run.

A scenario with the label ``grader`` is scored by that grader of its domain instead of the engine's signals.
A grader is pure: the trace, and what a judge said if one was wanted, are all it sees.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from duologue.records.judgement import Judgement, JudgeQuestion, JudgeReply
from duologue.records.outcome import Cause, Verdict
from duologue.records.result import ScenarioResult
from duologue.records.scenario import GRADER_LABEL, Scenario
from duologue.registry import Registry
from duologue.trace.reader import Trace

__all__ = [
    "GRADERS",
    "GRADER_LABEL",
    "RUN_REPORTS",
    "Grade",
    "Grader",
    "GradingInput",
    "JudgeQuestion",
    "JudgeReply",
    "Judgement",
    "RunContext",
    "RunFiles",
    "RunReport",
    "Trace",
]


@dataclass(frozen=True, slots=True)
class GradingInput:
    """What a grader looks at. ``judgement`` is None when no judge was wanted (``--no-judge``)."""

    trace: Trace
    judgement: Judgement | None = None

    @property
    def scenario(self) -> Scenario:
        """The scenario of the trace."""
        return self.trace.header.scenario


@dataclass(frozen=True, slots=True)
class Grade:
    """What a grader found.

    Args:
        passed: None when it cannot be told; ``cause`` and ``detail`` then say why.
        verdicts: one for each axis or check.
        gates: names of the verdicts that decided.
        fields: JSON values that are stored with the result, for the domain's run report.
        detail: one line on why it did not pass.
        cause: why it cannot be told.
    """

    passed: bool | None
    verdicts: tuple[Verdict, ...]
    gates: tuple[str, ...]
    fields: Mapping[str, Any] = field(default_factory=dict)
    detail: str = ""
    cause: Cause | None = None


def _no_questions(trace: Trace) -> Sequence[JudgeQuestion]:
    return ()


def _needs_no_judge(scenario: Scenario) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Grader:
    """One way to score.

    Args:
        version: changes whenever the same trace may get another grade.
        grade: scores an attempt; never raises for what a trace can hold.
        questions: what a judge has to be asked about a finished call.
        needs_judge: whether a scenario cannot be graded in full without a judge, known before the call.
    """

    version: int
    grade: Callable[[GradingInput], Grade]
    questions: Callable[[Trace], Sequence[JudgeQuestion]] = _no_questions
    needs_judge: Callable[[Scenario], bool] = _needs_no_judge


GRADERS: Registry[Grader] = Registry("grader")


@dataclass(frozen=True, slots=True)
class RunContext:
    """What a run report cannot read from the results.

    Args:
        started_utc: when the run began, ISO 8601.
        agent: name of what was tested: the brain or model of the bot, or the adapter.
        suite: the value of ``--suite``; ``all`` without it.
        judge: the judge's model; empty without a judge.
        recogniser: what heard the caller, as far as it is known.
    """

    started_utc: str
    agent: str = "bot"
    suite: str = "all"
    judge: str = ""
    recogniser: str = ""


@dataclass(frozen=True, slots=True)
class RunFiles:
    """File names to contents (JSON values, or text), and the summary that is printed at the end of a run."""

    files: Mapping[str, Any]
    summary: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RunReport:
    """A domain's own report on its attempts of a run: pure, so it can be rebuilt from stored results."""

    build: Callable[[Sequence[ScenarioResult], RunContext], RunFiles]


RUN_REPORTS: Registry[RunReport] = Registry("run report")
