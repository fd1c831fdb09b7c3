"""Checks: how an attempt is scored, by the engine's own and by a domain's.

A check is a pure function of the evidence. It returns what it found, asks a judge, or returns None when it has no
place in the attempt. The same evidence and answers give the same finding, so stored attempts rescore to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from duologue.errors import RegistryError
from duologue.records.judgement import JudgeQuestion, JudgeReply
from duologue.records.outcome import Cause, Verdict
from duologue.records.scenario import Scenario
from duologue.registry import DEFAULT_DOMAIN, Registry
from duologue.toolkit.evidence import Answers, Evidence, ScoringMode
from duologue.toolkit.rules import RULES_NAME
from duologue.trace.reader import Trace

__all__ = [
    "Answers",
    "Ask",
    "CheckBody",
    "CheckRole",
    "Evidence",
    "Finding",
    "Grade",
    "JudgeQuestion",
    "JudgeReply",
    "Meaning",
    "Meanings",
    "ScoringMode",
    "Trace",
    "caller_meanings",
    "check",
    "not_applicable",
    "not_evaluable",
]

ENGINE = DEFAULT_DOMAIN
"""The owner under which the engine's own checks are registered."""


class CheckRole(StrEnum):
    """What a check is for.

    ``GATES``: decides where a scenario names it, and is shown elsewhere. ``REPORTS``: is shown, and decides nothing.
    ``EVALUABILITY``: a failed one makes the attempt not evaluable, as it says nothing about the agent.
    """

    GATES = "gates"
    REPORTS = "reports"
    EVALUABILITY = "evaluability"


class Meaning(StrEnum):
    """What a check of evaluability means in a domain: it voids the attempt, is only reported, or is not made."""

    VOID = "void"
    REPORT = "report"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class Grade:
    """What a graded check adds to its finding.

    Args:
        verdicts: one for each axis; they stand in the result in place of one verdict of the check.
        gates: names of the verdicts that decided.
        fields: JSON values that are stored with the result, for the domain's run report.
    """

    verdicts: tuple[Verdict, ...]
    gates: tuple[str, ...]
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found.

    ``passed`` None with a ``cause`` means that evidence is missing; without one, that the check does not apply.
    """

    passed: bool | None
    reason: str = ""
    evidence: dict[str, Any] = field(default_factory=dict)
    cause: Cause | None = None
    score: float | None = None
    holds_initially: bool = False
    grade: Grade | None = None


@dataclass(frozen=True, slots=True)
class Ask:
    """Questions that a judge has to answer first; names are never used twice by one check.

    ``otherwise`` is what stands when the answers never come; without it the check is not evaluable (``judge``).
    """

    questions: Sequence[JudgeQuestion]
    otherwise: Finding | None = None


CheckBody = Callable[[Evidence], Finding | Ask | None]


def _needs_no_judge(scenario: Scenario) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Check:
    """A registered check.

    Args:
        version: changes whenever the same evidence may give another finding.
        graded: decides alone, with verdicts and fields of its own; runs only where a scenario names it.
        cause: by what a failed check of evaluability voids the attempt.
        needs_judge: whether a scenario cannot be scored in full without a judge, known before the call.
    """

    domain: str
    name: str
    version: int
    body: CheckBody
    role: CheckRole = CheckRole.GATES
    graded: bool = False
    cause: Cause = Cause.USER_SIM
    needs_judge: Callable[[Scenario], bool] = _needs_no_judge

    def verdict(self, finding: Finding) -> Verdict:
        """Return a finding as the verdict of this check."""
        return Verdict(
            signal=self.name,
            version=self.version,
            passed=finding.passed,
            evaluable=finding.cause is None,
            score=finding.score,
            reason=finding.reason,
            evidence=finding.evidence,
            cause=finding.cause,
            holds_initially=finding.holds_initially,
        )


CHECKS: Registry[Check] = Registry("check")

Meanings = Callable[[Scenario], Mapping[str, Meaning]]
CALLER_MEANINGS: Registry[Meanings] = Registry("meanings of caller checks")


def check(
    domain: str,
    name: str,
    *,
    version: int,
    role: CheckRole = CheckRole.GATES,
    graded: bool = False,
    cause: Cause = Cause.USER_SIM,
    needs_judge: Callable[[Scenario], bool] = _needs_no_judge,
) -> Callable[[CheckBody], CheckBody]:
    """Register a check of ``domain``.

    Raises:
        RegistryError: the name is taken.
    """

    def register(body: CheckBody) -> CheckBody:
        item = Check(domain, str(name), version, body, role, graded, cause, needs_judge)
        CHECKS.register(domain, item.name, item, owner=body.__module__)
        return body

    return register


def caller_meanings(domain: str) -> Callable[[Meanings], Meanings]:
    """Register what checks of evaluability mean for a domain's scenarios; those left out void the attempt."""

    def register(meanings: Meanings) -> Meanings:
        CALLER_MEANINGS.register(domain, RULES_NAME, meanings, owner=meanings.__module__)
        return meanings

    return register


@dataclass(frozen=True, slots=True)
class ChosenChecks:
    """The checks of one scenario, by what they mean for it, each in the order of registration."""

    graded: Check | None
    gating: tuple[Check, ...]
    evaluability: tuple[Check, ...]
    reports: tuple[Check, ...]
    named: tuple[Check, ...]

    @property
    def all(self) -> tuple[Check, ...]:
        """Every check that is made."""
        return (*self.gating, *self.evaluability, *self.reports)


def choose_checks(scenario: Scenario) -> ChosenChecks:
    """Return the checks that score ``scenario``: the engine's, then its domain's.

    Raises:
        RegistryError: the scenario names a check that nobody registered, or one that cannot gate; a domain's check
            has the name of one of the engine's; a graded check is to gate beside others.
    """
    known = _known(scenario.domain)
    names = (scenario.grader,) if scenario.grader else scenario.success_signals
    named = tuple(_named(scenario, name, known) for name in names)
    graded = next((item for item in named if item.graded), None)
    if graded is not None and len(named) > 1:
        raise RegistryError(f"{scenario.name}: the graded check {graded.name!r} decides alone; name no other")
    meanings = _meanings(scenario, known)
    of = {role: [item for item in known.values() if item.role is role] for role in CheckRole}
    told = [item for item in of[CheckRole.EVALUABILITY] if meanings.get(item.name) is Meaning.REPORT]
    return ChosenChecks(
        graded,
        (graded,) if graded is not None else tuple(item for item in of[CheckRole.GATES] if not item.graded),
        tuple(item for item in of[CheckRole.EVALUABILITY] if meanings.get(item.name, Meaning.VOID) is Meaning.VOID),
        (*told, *of[CheckRole.REPORTS]),
        named,
    )


def not_applicable(reason: str) -> Finding:
    """Return the finding of a check that the scenario does not ask for."""
    return Finding(None, reason)


def not_evaluable(cause: Cause, reason: str, evidence: dict[str, Any] | None = None) -> Finding:
    """Return the finding of a check whose evidence is missing."""
    return Finding(None, reason, evidence or {}, cause)


def _known(domain: str) -> dict[str, Check]:
    known = dict(CHECKS.items(ENGINE))
    for name, item in CHECKS.items(domain) if domain != ENGINE else ():
        if name in known:
            raise RegistryError(f"check {name!r} of domain {domain!r} has the name of one of the engine's checks")
        known[name] = item
    return known


def _named(scenario: Scenario, name: str, known: Mapping[str, Check]) -> Check:
    found = known.get(name)
    able = sorted(item.name for item in known.values() if item.role is CheckRole.GATES)
    if found is None:
        raise RegistryError(f"{scenario.name}: nobody registered a check {name!r}; known: {', '.join(able)}")
    if found.role is not CheckRole.GATES or (scenario.grader and not found.graded):
        raise RegistryError(f"{scenario.name}: check {name!r} ({found.role}) cannot decide; known: {', '.join(able)}")
    return found


def _meanings(scenario: Scenario, known: Mapping[str, Check]) -> Mapping[str, Meaning]:
    declare = CALLER_MEANINGS.find(scenario.domain, RULES_NAME)
    meanings = declare(scenario) if declare is not None else {}
    for name in meanings:
        if name not in known or known[name].role is not CheckRole.EVALUABILITY:
            able = [item.name for item in known.values() if item.role is CheckRole.EVALUABILITY]
            raise RegistryError(f"{scenario.name}: {name!r} is no check of the caller; known: {', '.join(able)}")
    return meanings
