"""Signal ``judge_passed``: a judge's overall score reaches the threshold."""

from __future__ import annotations

from duologue.records.outcome import Cause
from duologue.records.scenario import SignalName
from duologue.scoring.evidence import Evidence, ScoringMode
from duologue.scoring.signal import Finding, not_applicable, not_evaluable, signal


@signal(SignalName.JUDGE_PASSED, version=1)
def check_judge(evidence: Evidence) -> Finding:
    """Without a judge a gate on its score cannot be decided."""
    gates = SignalName.JUDGE_PASSED in evidence.scenario.success_signals
    if gates and evidence.mode is ScoringMode.DUOLOGUE:
        return not_evaluable(Cause.JUDGE, "the score needs a judge")
    return not_applicable("there is no judge")
