"""Signal ``clean_exit``: one of the two ended the call in order."""

from __future__ import annotations

from duologue.records.action import Side
from duologue.records.event import ExitRequested
from duologue.records.outcome import Cause, StopReason
from duologue.records.scenario import SignalName
from duologue.toolkit.checks import ENGINE, Finding, check, not_evaluable
from duologue.toolkit.evidence import Evidence, ScoringMode


@check(ENGINE, SignalName.CLEAN_EXIT, version=2)
def check_exit(evidence: Evidence) -> Finding:
    """The agent hung up, or the caller did; by the reference harness's rules only the agent's exit counts."""
    ended = evidence.ended
    if ended is None:
        return not_evaluable(Cause.HARNESS, "the trace does not say how the call ended")
    by_caller = ended.stop_reason is StopReason.CALLER_DONE and evidence.mode is ScoringMode.DUOLOGUE
    side = Side.USER if by_caller else Side.AGENT
    requests = [event.seq for event in evidence.trace.of(ExitRequested) if event.side is side]
    report = {
        "expected": StopReason.EXIT.value,
        "found": ended.stop_reason.value,
        "trace": [*requests, ended.seq],
    }
    if by_caller and requests:
        return Finding(True, "the caller hung up", report)
    if ended.stop_reason is not StopReason.EXIT:
        return Finding(False, f"the call ended with {ended.stop_reason}", report)
    if not requests:
        return not_evaluable(Cause.HARNESS, "the call ended with [EXIT] but the agent never asked for it", report)
    return Finding(True, "the agent hung up", report)
