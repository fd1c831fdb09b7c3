"""What a trace says of one task: what was heard, what was called, what was said last, and what went wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from duologue.records.action import Side
from duologue.records.event import CallEnded, Event, Fault, HeardText, SpokenText, ToolCalled, UtterancePlayed
from duologue.records.outcome import StopReason
from duologue.toolkit.checks import Trace
from duologue.toolkit.tool import END_CALL_TOOL
from scenarios.voiceagentbench.axes import Call
from tools.voiceagentbench.manifest import manifest_name

_BROKEN = {StopReason.BOT_LOST, StopReason.FAULT, StopReason.INTERRUPTED, StopReason.NOT_STARTED}


@dataclass(slots=True)
class UserTurn:
    """One user turn: what was heard of it, and what the agent did until the next one."""

    is_marked: bool
    heard: list[str] = field(default_factory=list)
    before_calls: list[str] = field(default_factory=list)
    after_calls: list[str] = field(default_factory=list)
    has_calls: bool = False

    @property
    def transcript(self) -> str:
        """What was heard."""
        return _joined(self.heard, " ")

    @property
    def reply(self) -> str:
        """What was said after the last call; without such words, what was said at all."""
        return _joined(self.after_calls) if self.has_calls and _joined(self.after_calls) else self.said

    @property
    def said(self) -> str:
        """Everything that was said."""
        return _joined([*self.before_calls, *self.after_calls])

    @property
    def is_answered(self) -> bool:
        """Whether the agent said or called something."""
        return self.has_calls or bool(self.said)


@dataclass(frozen=True, slots=True)
class Observation:
    """A finished attempt, as the scorer needs it."""

    turns: tuple[UserTurn, ...]
    calls: tuple[Call, ...]
    error: str | None
    media_ms: int
    wall_ms: int

    @property
    def transcripts(self) -> list[str]:
        """What was heard of each user turn that was heard, or answered."""
        return [turn.transcript for turn in self.heard_turns]

    @property
    def heard_turns(self) -> list[UserTurn]:
        """The user turns that were heard, or answered."""
        return [turn for turn in self.turns if turn.transcript or turn.is_answered]

    @property
    def final_text(self) -> str:
        """The reply to the last user turn."""
        return self.turns[-1].reply if self.turns else ""


def observe(trace: Trace) -> Observation:
    """Read a trace; never raises for what a trace can hold."""
    tools = trace.header.scenario.agent.resources.tools
    names = {
        name: manifest_name(item) for name, each in tools.items() if isinstance(item := each.get("manifest"), dict)
    }
    turns = _turns(trace)
    calls = tuple(
        Call(names.get(event.name, event.name), event.arguments, event.call_id)
        for event in trace.of(ToolCalled)
        if event.side is Side.AGENT and (event.name in names or event.name != END_CALL_TOOL)
    )
    ended = trace.last(CallEnded)
    return Observation(
        turns, calls, _error(trace, turns), ended.media_ms if ended else 0, ended.wall_ms if ended else 0
    )


def _turns(trace: Trace) -> tuple[UserTurn, ...]:
    is_marked = bool(trace.of(UtterancePlayed))
    turns: list[UserTurn] = []
    for event in trace.events:
        if isinstance(event, UtterancePlayed):
            turns.append(UserTurn(is_marked=True))
        elif isinstance(event, HeardText) and event.side is Side.AGENT and event.final:
            if not is_marked and (not turns or turns[-1].is_answered):
                turns.append(UserTurn(is_marked=False))
            if turns:
                turns[-1].heard.append(event.text)
        elif turns:
            _take_answer(turns[-1], event)
    return tuple(turns)


def _take_answer(turn: UserTurn, event: Event) -> None:
    if isinstance(event, ToolCalled) and event.side is Side.AGENT:
        turn.has_calls = True
        turn.before_calls += turn.after_calls
        turn.after_calls = []
    elif isinstance(event, SpokenText) and event.side is Side.AGENT:
        (turn.after_calls if turn.has_calls else turn.before_calls).append(event.text)


def _error(trace: Trace, turns: Sequence[UserTurn]) -> str | None:
    fault = next((fault for fault in trace.of(Fault) if fault.fatal), None)
    if fault is not None:
        return f"{fault.error}: {fault.message}"
    ended = trace.last(CallEnded)
    if ended is None or trace.is_torn:
        return "IncompleteTrace: the attempt was cut off"
    if ended.stop_reason in _BROKEN:
        return f"CallBroken: the call ended with {ended.stop_reason}"
    for number, turn in enumerate(turns, 1):
        if not turn.transcript and not turn.is_answered:
            return f"TranscriptMissing: nothing was heard of user turn {number}"
    return None if turns else "TranscriptMissing: no user turn took place"


def _joined(parts: Sequence[str], by: str = "") -> str:
    return " ".join(by.join(parts).split())
