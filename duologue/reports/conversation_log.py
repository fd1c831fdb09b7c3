"""The readable transcript of one attempt."""

from __future__ import annotations

from duologue.records.action import Side
from duologue.records.event import (
    DeltaPushed,
    DomainEvent,
    Fault,
    OpenEvent,
    ResourceSnapshot,
    ToolCalled,
    ToolReturned,
)
from duologue.records.result import ScenarioResult
from duologue.records.shown import one_line
from duologue.reports.seglst import NO_WORDS
from duologue.state.canonical import canonical_text
from duologue.trace.reader import Trace


def conversation_log(trace: Trace, result: ScenarioResult) -> str:
    """Return turns, tool calls, deltas and faults in order of media time, one a line."""
    lines = [
        (turn.start_ms, 0, index, _turn_line(result, index)) for index, turn in enumerate(result.conversation.turns)
    ]
    for event in trace.events:
        text = _event_line(event)
        if text:
            lines.append((event.t_ms, 1, event.seq, f"{_clock(event.t_ms)}  {'':13}  {one_line(text)}"))
    body = [line for *_, line in sorted(lines)]
    outcome = result.outcome
    cause = f" ({outcome.cause})" if outcome.cause else ""
    head = [
        f"scenario  {result.scenario}",
        *([] if result.line.is_clean else [f"line      {result.line.name}"]),
        f"outcome   {outcome.kind}{cause}  {one_line(outcome.detail)}".rstrip(),
        f"stopped   {result.stop_reason or 'never started'} after {_clock(result.media_ms)}",
        "",
    ]
    return "\n".join([*head, *body]) + "\n"


def _turn_line(result: ScenarioResult, index: int) -> str:
    turn = result.conversation.turns[index]
    latency = next(
        (
            f"  [latency {response.latency_ms} ms]"
            for response in result.conversation.latency.responses
            if turn.side is Side.AGENT and response.agent_start_ms == turn.start_ms
        ),
        "",
    )
    span = f"{_clock(turn.start_ms)}–{_clock(turn.end_ms)}"
    return f"{span}  {turn.side.value}: {one_line(turn.text) or NO_WORDS}{latency}"


def _event_line(event: object) -> str:
    match event:
        case ToolCalled():
            return f"{event.side.value} calls {event.name}({canonical_text(event.arguments)})"
        case ToolReturned():
            return f"{event.side.value} gets {event.name} → {canonical_text(event.result)}"
        case DeltaPushed():
            state = "" if event.success else f"  REFUSED: {'; '.join(event.errors)}"
            return f"sync to {event.side.value}: {canonical_text(event.delta)}{state}"
        case DomainEvent():
            return f"{event.domain}: {event.kind} {canonical_text(event.data)}"
        case ResourceSnapshot():
            return f"{event.moment} snapshot of {event.name}: {event.digest[:12]}"
        case OpenEvent():
            return f"{event.event} {canonical_text(event.fields)}"
        case Fault():
            return f"fault ({event.cause}) {event.error}: {event.message}"
        case _:
            return ""


def _clock(t_ms: int) -> str:
    minutes, rest = divmod(t_ms, 60_000)
    return f"{minutes:02d}:{rest / 1000:06.3f}"
