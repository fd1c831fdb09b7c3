"""Did the simulated caller do its part? Each check is a verdict; a failed one makes the attempt not evaluable.

Checks are cautious: they speak only when the trace shows it, as a false alarm would throw a good attempt away.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps

from duologue.records.action import Side
from duologue.records.event import BotReady, ExitRequested
from duologue.records.outcome import StopReason
from duologue.scoring.caller.conduct import agent_lines, hang_up_without_reason, lines_out_of_part, unanswered_question
from duologue.scoring.caller.facts import find_contradictions
from duologue.scoring.caller.tools import find_unasked
from duologue.toolkit.checks import ENGINE, CheckRole, Finding, check
from duologue.toolkit.evidence import Evidence
from duologue.toolkit.utterances import Utterance
from duologue.trace.reader import Trace

CALLER_VERSION = 3
"""Goes up whenever the same trace may give another verdict on its caller."""

FACTS, TOOLS, ROLE, PART, HANG_UP, PRESENCE = (
    "caller_facts",
    "caller_tools",
    "caller_role",
    "caller_part",
    "caller_hang_up",
    "caller_presence",
)

HUMAN = "human"
"""What a side that a person holds names as its brain in the handshake."""


CallerBody = Callable[[Evidence], Finding]


def _caller_check(name: str) -> Callable[[CallerBody], CallerBody]:
    """Register a check that is made only when the caller is simulated and spoke."""

    def register(body: CallerBody) -> CallerBody:
        @check(ENGINE, name, version=CALLER_VERSION, role=CheckRole.EVALUABILITY)
        @wraps(body)
        def guarded(evidence: Evidence) -> Finding | None:
            return body(evidence) if _is_simulated(evidence.trace) and _spoke(evidence) else None

        return body

    return register


def _is_simulated(trace: Trace) -> bool:
    return trace.header.scenario.caller.takes_bot and not _is_person(trace)


def _spoke(evidence: Evidence) -> bool:
    return any(isinstance(deed, Utterance) and deed.side is Side.USER for deed in evidence.deeds)


def _is_person(trace: Trace) -> bool:
    abouts = [event.about for event in trace.of(BotReady) if event.side is Side.USER]
    capabilities = abouts[-1].get("capabilities") if abouts else None
    return isinstance(capabilities, dict) and capabilities.get("brain") == HUMAN


@_caller_check(FACTS)
def _facts(evidence: Evidence) -> Finding:
    found, count = find_contradictions(evidence.trace, evidence.deeds)
    if found:
        first = found[0]
        lines = [{"said": item.said, "expected": item.expected, "trace": item.seqs} for item in found]
        return _finding(False, f"the caller said {first.said!r}; it was told {first.expected}", lines)
    return _finding(True, f"nothing said contradicts the brief; {count} facts of it can be checked")


@_caller_check(TOOLS)
def _tools(evidence: Evidence) -> Finding:
    unasked, count = find_unasked(evidence.scenario, evidence.deeds)
    if unasked:
        lines = [{"called": item.call.name, "why": item.why, "trace": [item.call.seq]} for item in unasked]
        return _finding(False, f"the caller used {unasked[0].call.name}, but {unasked[0].why}", lines)
    if not count:
        return _finding(None, "the caller used no tool")
    return _finding(True, f"{count} tool calls, none of them unasked")


@_caller_check(ROLE)
def _role(evidence: Evidence) -> Finding:
    lines = [{"said": said, "trace": seqs} for said, seqs in agent_lines(evidence.scenario, evidence.deeds)]
    if lines:
        return _finding(False, f"the caller spoke as the agent: {lines[0]['said']!r}", lines)
    return _finding(True, "the caller never spoke as the agent")


@_caller_check(PART)
def _part(evidence: Evidence) -> Finding:
    lines = [{"said": said, "trace": seqs} for said, seqs in lines_out_of_part(evidence.scenario, evidence.deeds)]
    if lines:
        return _finding(False, f"the caller left its part: {lines[0]['said']!r}", lines)
    return _finding(True, "the caller stayed in its part")


@_caller_check(HANG_UP)
def _hang_up(evidence: Evidence) -> Finding:
    if not any(isinstance(deed, ExitRequested) and deed.side is Side.USER for deed in evidence.deeds):
        return _finding(None, "the caller did not hang up")
    exit_ = hang_up_without_reason(evidence.scenario, evidence.deeds)
    if exit_ is not None:
        return _finding(False, "the caller hung up for no reason", [{"trace": [exit_.seq]}])
    return _finding(True, "the caller hung up with a reason")


@check(ENGINE, PRESENCE, version=CALLER_VERSION, role=CheckRole.EVALUABILITY)
def check_presence(evidence: Evidence) -> Finding | None:
    """The caller was there; of one that never spoke only its absence is told."""
    if not _is_simulated(evidence.trace):
        return None
    found = _presence(evidence)
    return found if found.passed is False or _spoke(evidence) else None


def _presence(evidence: Evidence) -> Finding:
    ended = evidence.ended
    if ended is None or ended.stop_reason is not StopReason.TIMEOUT:
        return _finding(True, "the call did not run out of time")
    asked = unanswered_question(evidence.deeds, ended.media_ms)
    if asked is not None:
        silent_s = (ended.media_ms - asked.end_ms) // 1000
        found = [{"asked": asked.text, "silent_s": silent_s, "trace": asked.seqs}]
        return _finding(False, f"the caller heard {asked.text!r} and was silent for {silent_s} s", found)
    return _finding(True, "the caller did not stay silent when it was its turn")


def _finding(passed: bool | None, reason: str, found: Sequence[Mapping[str, object]] = ()) -> Finding:
    return Finding(passed, reason, {"found": list(found)} if found else {})
