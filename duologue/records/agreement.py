"""How far two judges agree about the same attempts."""

from __future__ import annotations

from duologue.records.record import Record


class BinaryAgreement(Record):
    """Yes-or-no verdicts of two judges on the same items.

    ``kappa`` is Cohen's; None when chance alone would make them agree, or nothing was compared.
    """

    items: int
    both_passed: int
    both_failed: int
    only_first_passed: int
    only_second_passed: int
    agreement: float | None
    kappa: float | None


class ScoreDifference(Record):
    """First judge's scores minus the second's; None when nothing was compared."""

    items: int
    mean: float | None
    mean_absolute: float | None
    largest: float | None


class ClaimComparison(Record):
    """Both verdicts on one statement."""

    index: int
    assertion: str
    first: bool
    second: bool


class ScenarioComparison(Record):
    """Both judges on one attempt; ``problem`` says why one of them has no verdict."""

    folder: str
    scenario: str
    first_score: float | None = None
    second_score: float | None = None
    first_passed: bool | None = None
    second_passed: bool | None = None
    claims: tuple[ClaimComparison, ...] = ()
    problem: str = ""


class AgreementReport(Record):
    """The comparison of two judges over a run. ``without_both`` counts attempts that one of them did not decide."""

    first: str
    second: str
    without_both: int
    attempts: BinaryAgreement
    claims: BinaryAgreement
    scores: ScoreDifference
    scenarios: tuple[ScenarioComparison, ...]
