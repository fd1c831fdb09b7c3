"""Two judges on the same attempts: agreement, Cohen's kappa, differences of scores. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from duologue.records.agreement import (
    AgreementReport,
    BinaryAgreement,
    ClaimComparison,
    ScenarioComparison,
    ScoreDifference,
)
from duologue.records.judge import JudgeResult


@dataclass(frozen=True, slots=True)
class JudgedTwice:
    """One attempt with what both judges said of it; None, or a result without score, when one did not."""

    folder: str
    scenario: str
    first: JudgeResult | None
    second: JudgeResult | None


def compare_judges(first: str, second: str, attempts: Sequence[JudgedTwice]) -> AgreementReport:
    """Return how far the judges named ``first`` and ``second`` agree; attempts in the order given."""
    scenarios = tuple(_compare(attempt) for attempt in attempts)
    compared = [item for item in scenarios if not item.problem]
    claims = [claim for item in compared for claim in item.claims]
    return AgreementReport(
        first=first,
        second=second,
        without_both=len(scenarios) - len(compared),
        attempts=binary_agreement([(item.first_passed is True, item.second_passed is True) for item in compared]),
        claims=binary_agreement([(claim.first, claim.second) for claim in claims]),
        scores=score_difference([(item.first_score or 0.0, item.second_score or 0.0) for item in compared]),
        scenarios=scenarios,
    )


def binary_agreement(pairs: Sequence[tuple[bool, bool]]) -> BinaryAgreement:
    """Return observed agreement and Cohen's kappa of pairs of verdicts."""
    both_passed, both_failed = pairs.count((True, True)), pairs.count((False, False))
    only_first, only_second = pairs.count((True, False)), pairs.count((False, True))
    total = len(pairs)
    agreement = kappa = None
    if total:
        agreement = (both_passed + both_failed) / total
        first, second = (both_passed + only_first) / total, (both_passed + only_second) / total
        chance = first * second + (1 - first) * (1 - second)
        kappa = (agreement - chance) / (1 - chance) if chance < 1 else None
    return BinaryAgreement(
        items=total,
        both_passed=both_passed,
        both_failed=both_failed,
        only_first_passed=only_first,
        only_second_passed=only_second,
        agreement=agreement,
        kappa=kappa,
    )


def score_difference(pairs: Sequence[tuple[float, float]]) -> ScoreDifference:
    """Return the mean, the mean absolute and the largest absolute difference of pairs of scores."""
    differences = [first - second for first, second in pairs]
    if not differences:
        return ScoreDifference(items=0, mean=None, mean_absolute=None, largest=None)
    sizes = [abs(difference) for difference in differences]
    return ScoreDifference(
        items=len(differences),
        mean=sum(differences) / len(differences),
        mean_absolute=sum(sizes) / len(sizes),
        largest=max(sizes),
    )


def _compare(attempt: JudgedTwice) -> ScenarioComparison:
    first, second = attempt.first, attempt.second
    problem = _problem("first", first) or _problem("second", second) or _unlike(first, second)
    if problem or first is None or second is None or first.score is None or second.score is None:
        return ScenarioComparison(folder=attempt.folder, scenario=attempt.scenario, problem=problem)
    pairs = zip(first.nl_assertion_verdicts or (), second.nl_assertion_verdicts or (), strict=True)
    return ScenarioComparison(
        folder=attempt.folder,
        scenario=attempt.scenario,
        first_score=first.score,
        second_score=second.score,
        first_passed=first.score >= first.threshold,
        second_passed=second.score >= second.threshold,
        claims=tuple(
            ClaimComparison(index=one.index, assertion=one.assertion, first=one.passed, second=two.passed)
            for one, two in pairs
        ),
    )


def _problem(which: str, result: JudgeResult | None) -> str:
    if result is None:
        return f"the {which} judge has no stored reply"
    return f"the {which} judge gave no usable reply: {result.error}" if result.score is None else ""


def _unlike(first: JudgeResult | None, second: JudgeResult | None) -> str:
    """Return why two replies cannot be compared: they are about different statements or traces."""
    if first is None or second is None:
        return ""
    if first.provenance.trace_digest != second.provenance.trace_digest:
        return "the judges saw different traces"
    statements = [
        tuple(verdict.assertion for verdict in result.nl_assertion_verdicts or ()) for result in (first, second)
    ]
    return "the judges decided different statements" if statements[0] != statements[1] else ""
