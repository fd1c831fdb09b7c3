"""Signal ``judge_passed``: a judge's overall score reaches the threshold."""

from __future__ import annotations

from duologue.records.outcome import Cause
from duologue.records.scenario import SignalName
from duologue.toolkit.checks import ENGINE, Finding, check, not_applicable, not_evaluable
from duologue.toolkit.evidence import Evidence, ScoringMode


@check(ENGINE, SignalName.JUDGE_PASSED, version=2)
def check_judge(evidence: Evidence) -> Finding:
    """The stored score reaches the stored threshold; a judge without a usable reply decides nothing."""
    judge = evidence.judge
    if judge is None:
        if SignalName.JUDGE_PASSED in evidence.scenario.success_signals and evidence.mode is ScoringMode.DUOLOGUE:
            return not_evaluable(Cause.JUDGE, "the score needs a judge")
        return not_applicable("there is no judge")
    report = {"expected": judge.threshold, "found": judge.score, "judge": judge.provenance.model}
    if judge.score is None:
        return not_evaluable(Cause.JUDGE, judge.error, report)
    return Finding(judge.score >= judge.threshold, judge.reason, report, score=judge.score)
