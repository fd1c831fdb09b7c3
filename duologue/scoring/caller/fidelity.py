"""Did the simulated caller do its part? Each check is a verdict; a failed one makes the attempt not evaluable.

Checks are cautious: they speak only when the trace shows it, as a false alarm would throw a good attempt away.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from duologue.records.action import Side
from duologue.records.event import BotReady, CallEnded, ExitRequested
from duologue.records.outcome import Cause, StopReason, Verdict
from duologue.scoring.caller.conduct import agent_lines, hang_up_without_reason, lines_out_of_part, unanswered_question
from duologue.scoring.caller.facts import find_contradictions
from duologue.scoring.caller.tools import find_unasked
from duologue.scoring.evidence import Problem
from duologue.scoring.utterances import Deed, Utterance, read_deeds
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


def check_caller(trace: Trace) -> tuple[Verdict, ...]:
    """Return the verdicts on the caller; none when nobody simulates it, or it had no occasion to speak."""
    scenario = trace.header.scenario
    if scenario.frozen_caller or _is_person(trace):
        return ()
    deeds = read_deeds(trace.events)
    presence = _presence(trace, deeds)
    if not any(isinstance(deed, Utterance) and deed.side is Side.USER for deed in deeds):
        return (presence,) if presence.passed is False else ()
    checks = (_facts(trace, deeds), _tools(trace, deeds), _role(deeds), _part(trace, deeds), _hang_up(trace, deeds))
    return (*checks, presence)


def _is_person(trace: Trace) -> bool:
    abouts = [event.about for event in trace.of(BotReady) if event.side is Side.USER]
    capabilities = abouts[-1].get("capabilities") if abouts else None
    return isinstance(capabilities, dict) and capabilities.get("brain") == HUMAN


def caller_problems(verdicts: Sequence[Verdict]) -> tuple[Problem, ...]:
    """Return one problem for each failed check."""
    return tuple(Problem(Cause.USER_SIM, f"{item.signal}: {item.reason}") for item in verdicts if item.passed is False)


def _facts(trace: Trace, deeds: Sequence[Deed]) -> Verdict:
    found, count = find_contradictions(trace, deeds)
    if found:
        first = found[0]
        lines = [{"said": item.said, "expected": item.expected, "trace": item.seqs} for item in found]
        return _verdict(FACTS, False, f"the caller said {first.said!r}; it was told {first.expected}", lines)
    return _verdict(FACTS, True, f"nothing said contradicts the brief; {count} facts of it can be checked")


def _tools(trace: Trace, deeds: Sequence[Deed]) -> Verdict:
    unasked, count = find_unasked(trace.header.scenario, deeds)
    if unasked:
        lines = [{"called": item.call.name, "why": item.why, "trace": [item.call.seq]} for item in unasked]
        return _verdict(TOOLS, False, f"the caller used {unasked[0].call.name}, but {unasked[0].why}", lines)
    if not count:
        return _verdict(TOOLS, None, "the caller used no tool")
    return _verdict(TOOLS, True, f"{count} tool calls, none of them unasked")


def _role(deeds: Sequence[Deed]) -> Verdict:
    lines = [{"said": said, "trace": seqs} for said, seqs in agent_lines(deeds)]
    if lines:
        return _verdict(ROLE, False, f"the caller spoke as the agent: {lines[0]['said']!r}", lines)
    return _verdict(ROLE, True, "the caller never spoke as the agent")


def _part(trace: Trace, deeds: Sequence[Deed]) -> Verdict:
    lines = [{"said": said, "trace": seqs} for said, seqs in lines_out_of_part(trace.header.scenario, deeds)]
    if lines:
        return _verdict(PART, False, f"the caller left its part: {lines[0]['said']!r}", lines)
    return _verdict(PART, True, "the caller stayed in its part")


def _hang_up(trace: Trace, deeds: Sequence[Deed]) -> Verdict:
    if not any(isinstance(deed, ExitRequested) and deed.side is Side.USER for deed in deeds):
        return _verdict(HANG_UP, None, "the caller did not hang up")
    exit_ = hang_up_without_reason(trace.header.scenario, deeds)
    if exit_ is not None:
        return _verdict(HANG_UP, False, "the caller hung up for no reason", [{"trace": [exit_.seq]}])
    return _verdict(HANG_UP, True, "the caller hung up with a reason")


def _presence(trace: Trace, deeds: Sequence[Deed]) -> Verdict:
    ended = trace.last(CallEnded)
    if ended is None or ended.stop_reason is not StopReason.TIMEOUT:
        return _verdict(PRESENCE, True, "the call did not run out of time")
    asked = unanswered_question(deeds, ended.media_ms)
    if asked is not None:
        silent_s = (ended.media_ms - asked.end_ms) // 1000
        found = [{"asked": asked.text, "silent_s": silent_s, "trace": asked.seqs}]
        return _verdict(PRESENCE, False, f"the caller heard {asked.text!r} and was silent for {silent_s} s", found)
    return _verdict(PRESENCE, True, "the caller did not stay silent when it was its turn")


def _verdict(name: str, passed: bool | None, reason: str, found: Sequence[dict[str, Any]] = ()) -> Verdict:
    evidence = {"found": list(found)} if found else {}
    return Verdict(signal=name, version=CALLER_VERSION, passed=passed, reason=reason, evidence=evidence)
