"""Signal ``clean_exit``: the agent ended the call."""

from __future__ import annotations

from duologue.records.action import Side
from duologue.records.event import ExitRequested
from duologue.records.outcome import Cause, StopReason
from duologue.records.scenario import SignalName
from duologue.scoring.evidence import Evidence
from duologue.scoring.signal import Finding, not_evaluable, signal


@signal(SignalName.CLEAN_EXIT, version=1)
def check_exit(evidence: Evidence) -> Finding:
    """The stop reason is the agent's exit, and the trace holds its request."""
    ended = evidence.ended
    if ended is None:
        return not_evaluable(Cause.HARNESS, "the trace does not say how the call ended")
    requests = [event.seq for event in evidence.trace.of(ExitRequested) if event.side is Side.AGENT]
    report = {
        "expected": StopReason.EXIT.value,
        "found": ended.stop_reason.value,
        "trace": [*requests, ended.seq],
    }
    if ended.stop_reason is not StopReason.EXIT:
        return Finding(False, f"the call ended with {ended.stop_reason}", report)
    if not requests:
        return not_evaluable(Cause.HARNESS, "the call ended with [EXIT] but the agent never asked for it", report)
    return Finding(True, "the agent hung up", report)
