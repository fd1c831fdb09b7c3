"""What is scored: the loans after the call, and whether the caller said its card number."""

from __future__ import annotations

from collections.abc import Mapping

from tools.lending.desk import DOMAIN

from duologue.records.event import UtterancePlayed
from duologue.records.outcome import Cause
from duologue.records.scenario import Scenario
from duologue.toolkit.checks import CheckRole, Evidence, Finding, Meaning, caller_meanings, check


@check(DOMAIN, "loans_right", version=1)
def loans_right(evidence: Evidence) -> Finding:
    final = evidence.resources["desk"].final
    if final is None:
        return Finding(None, "nobody knows the loans after the call", cause=Cause.HARNESS)
    expected = evidence.scenario.grading["loans"]
    return Finding(final.data == expected, f"the loans are {final.data}", {"expected": expected, "found": final.data})


@check(DOMAIN, "card_said", version=1, role=CheckRole.EVALUABILITY)
def card_said(evidence: Evidence) -> Finding:
    clips = [event.clip for event in evidence.trace.of(UtterancePlayed)]
    return Finding("card" in clips, f"the caller said {', '.join(clips) or 'nothing'}")


@caller_meanings(DOMAIN)
def meanings(scenario: Scenario) -> Mapping[str, Meaning]:
    return {"card_said": Meaning.REPORT}
