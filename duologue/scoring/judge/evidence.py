"""What a judge is shown of an attempt, as plain data in named sections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from duologue.records.action import RecordedAction, Side
from duologue.records.event import ContextPulled, SpokenText, ToolCalled, ToolReturned
from duologue.scoring.judge.settings import Compaction
from duologue.toolkit.evidence import Evidence
from duologue.toolkit.utterances import join_words
from duologue.trace.reader import Trace


@dataclass(frozen=True, slots=True)
class Section:
    """One named part of the evidence; ``value`` is JSON data."""

    name: str
    value: Any


def build_sections(
    evidence: Evidence, *, with_conversation: bool = False, compaction: Compaction | None = None
) -> tuple[Section, ...]:
    """Return the sections of an attempt in the order of the wire contract; those without content are left out.

    The conversation, with tool calls and their results, is also there when a side's context is missing.
    """
    trace = evidence.trace
    contexts = {side: context_of(trace, side) for side in Side}
    if compaction is not None:
        contexts = {side: compact(messages, compaction) for side, messages in contexts.items()}
    statements = evidence.scenario.nl_assertions
    reference = evidence.gold.actions if evidence.gold is not None else ()
    found: list[tuple[str, Any]] = [
        ("reference", {"actions": [_action(action) for action in reference]} if reference else None),
        ("prediction", {"actions": [_action(item.action) for item in evidence.actions]} if evidence.actions else None),
        ("conversation", conversation(trace) if with_conversation or not all(contexts.values()) else None),
        ("nl_assertions", [{"index": n, "assertion": text} for n, text in enumerate(statements, start=1)]),
        ("agent_context_history", contexts[Side.AGENT]),
        ("user_context_history", contexts[Side.USER]),
    ]
    return tuple(Section(name, value) for name, value in found if value)


def has_observations(trace: Trace) -> bool:
    """Return whether anything that the agent did can be seen: a word, a tool call, or a message of its context."""
    speakers = [event.side for event in trace.of(SpokenText)] + [event.side for event in trace.of(ToolCalled)]
    did = Side.AGENT in speakers
    return did or any(_role(message) in ("assistant", "tool") for message in context_of(trace, Side.AGENT))


def context_of(trace: Trace, side: Side) -> list[object]:
    """Return the last context that was pulled from a side; empty without one."""
    event = next((event for event in reversed(trace.of(ContextPulled)) if event.side is side), None)
    return list(event.messages) if event is not None else []


def conversation(trace: Trace) -> list[dict[str, object]]:
    """Return what was said, called and returned in order; ``at_s`` is media time in seconds."""
    lines: list[dict[str, object]] = []
    words: list[str] = []
    for event in trace.events:
        if isinstance(event, SpokenText):
            if not (lines and words and lines[-1]["side"] == event.side.value):
                words = []
                lines.append({"at_s": event.t_ms / 1000, "side": event.side.value, "said": ""})
            words.append(event.text)
            lines[-1]["said"] = join_words(words)
        elif isinstance(event, ToolCalled):
            words = []
            call = {"called": event.name, "arguments": event.arguments}
            lines.append({"at_s": event.t_ms / 1000, "side": event.side.value, **call})
        elif isinstance(event, ToolReturned):
            words = []
            answer = {"returned": event.name, "result": event.result}
            lines.append({"at_s": event.t_ms / 1000, "side": event.side.value, **answer})
    return lines


def compact(messages: Sequence[object], limits: Compaction) -> list[Any]:
    """Return a context with its leading system message and the last messages, long texts cut.

    ``limits.messages`` counts the system message; nested lists keep as many of their last items.
    """
    kept = list(messages)
    if len(kept) > limits.messages:
        head = kept[:1] if _role(kept[0]) == "system" else []
        tail = limits.messages - len(head)
        kept = [*head, *(kept[-tail:] if tail else [])]
    return [
        _shorten(message, limits.system_chars if _role(message) == "system" else limits.chars, limits.messages)
        for message in kept
    ]


def _shorten(value: object, chars: int, items: int) -> object:
    if isinstance(value, str):
        return value if len(value) <= chars else f"{value[:chars]} [{len(value) - chars} characters removed]"
    if isinstance(value, list):
        return [_shorten(item, chars, items) for item in value[-items:]]
    if isinstance(value, dict):
        return {key: _shorten(item, chars, items) for key, item in value.items()}
    return value


def _role(message: object) -> str:
    return str(message.get("role", "")) if isinstance(message, dict) else ""


def _action(action: RecordedAction) -> dict[str, object]:
    shown = action.model_dump(mode="json", include={"side", "name", "arguments", "result"})
    return {key: shown[key] for key in ("side", "name", "arguments", "result") if shown[key] is not None}
