"""Signal ``nl_assertion``: statements about the conversation, which only a judge can decide."""

from __future__ import annotations

from duologue.records.judge import JudgeResult
from duologue.records.outcome import Cause
from duologue.records.scenario import SignalName
from duologue.toolkit.checks import ENGINE, Finding, check, not_applicable, not_evaluable
from duologue.toolkit.evidence import Evidence, ScoringMode


@check(ENGINE, SignalName.NL_ASSERTION, version=2)
def check_statements(evidence: Evidence) -> Finding:
    """Every statement of the scenario has a stored verdict, and all of them are true."""
    statements = evidence.scenario.nl_assertions
    if not statements:
        if SignalName.NL_ASSERTION in evidence.scenario.success_signals and evidence.mode is ScoringMode.DUOLOGUE:
            return not_evaluable(Cause.HARNESS, "the scenario gates on statements but has none")
        return not_applicable("the scenario has no statements")
    if evidence.judge is None:
        return _without_judge(evidence)
    return _judged(statements, evidence.judge)


def _without_judge(evidence: Evidence) -> Finding:
    """A gate on statements is never dropped in silence."""
    if evidence.mode is ScoringMode.REFERENCE:
        return not_applicable("no judge; the reference harness then leaves statements out")
    if SignalName.NL_ASSERTION in evidence.scenario.success_signals:
        expected = list(evidence.scenario.nl_assertions)
        return not_evaluable(Cause.JUDGE, "statements need a judge", {"expected": expected, "found": None})
    return not_applicable("statements do not gate this scenario, and there is no judge")


def _judged(statements: tuple[str, ...], judge: JudgeResult) -> Finding:
    if judge.nl_assertion_verdicts is None:
        report = {"expected": list(statements), "found": None, "judge": judge.provenance.model}
        return not_evaluable(Cause.JUDGE, judge.error or "the stored reply holds no verdicts on statements", report)
    if tuple(verdict.assertion for verdict in judge.nl_assertion_verdicts) != statements:
        return not_evaluable(Cause.JUDGE, "the stored verdicts are about other statements; rescore with a judge")
    verdicts = [verdict.model_dump(mode="json") for verdict in judge.nl_assertion_verdicts]
    failed = [verdict for verdict in judge.nl_assertion_verdicts if not verdict.passed]
    passed = len(verdicts) - len(failed)
    reason = "; ".join(f"{verdict.assertion!r}: {verdict.reason}" for verdict in failed)
    return Finding(
        not failed,
        f"{passed} of {len(verdicts)} statements hold" + (f"; not {reason}" if reason else ""),
        {"verdicts": verdicts, "judge": judge.provenance.model},
        score=passed / len(verdicts),
    )
