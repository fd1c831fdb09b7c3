"""Signal ``nl_assertion``: statements about the conversation, which only a judge can decide."""

from __future__ import annotations

from duologue.records.outcome import Cause
from duologue.records.scenario import SignalName
from duologue.scoring.evidence import Evidence, ScoringMode
from duologue.scoring.signal import Finding, not_applicable, not_evaluable, signal


@signal(SignalName.NL_ASSERTION, version=1)
def check_statements(evidence: Evidence) -> Finding:
    """Without a judge a gate on statements cannot be decided, and is never dropped in silence."""
    statements = evidence.scenario.nl_assertions
    if evidence.mode is ScoringMode.REFERENCE:
        return not_applicable("no judge; the reference harness then leaves statements out")
    if SignalName.NL_ASSERTION in evidence.scenario.success_signals:
        if not statements:
            return not_evaluable(Cause.HARNESS, "the scenario gates on statements but has none")
        return not_evaluable(Cause.JUDGE, "statements need a judge", {"expected": list(statements), "found": None})
    return not_applicable("statements do not gate this scenario, and there is no judge")
