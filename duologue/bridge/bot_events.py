"""What a bot says on the wire → events of the trace. Pure; one translator a side."""

from __future__ import annotations

import re
from collections.abc import Callable

from duologue.protocol.messages import InterruptionMark, RtviMessage
from duologue.protocol.requests import StrayAnswer
from duologue.records import event as ev
from duologue.records.action import Side

ACTION_APPLIED = "action-applied"
_EXIT = re.compile(r"<exit>(.*)</exit>", re.DOTALL)
_FINAL = re.compile(r"<final_response>(.*)</final_response>", re.DOTALL)

_MOST_TOKENS = 10**12  # beyond any model's use of a call: such a count is a mistake
_MOST_DIGITS = 12  # as many as the largest count has; int() of endless digits takes quadratic time

Data = dict[str, object]
Inbound = RtviMessage | InterruptionMark | StrayAnswer


def action_data(item: Inbound) -> Data | None:
    """Return the payload of an ``action-applied`` push, or None for anything else."""
    if isinstance(item, RtviMessage) and item.type == "server-message" and isinstance(item.data, dict):
        return item.data if item.data.get("type") == ACTION_APPLIED else None
    return None


class BotEvents:
    """Translates one side's messages; remembers the names of open tool calls."""

    def __init__(self, side: Side) -> None:
        self.side = side
        self._names: dict[str, str] = {}
        self._translators: dict[str, Callable[[Data], list[ev.Event]]] = {
            "bot-started-speaking": lambda _: [ev.BotSpeaking(side=side, speaking=True)],
            "bot-stopped-speaking": lambda _: [ev.BotSpeaking(side=side, speaking=False)],
            "user-started-speaking": lambda _: [ev.UserTurn(side=side, speaking=True)],
            "user-stopped-speaking": lambda _: [ev.UserTurn(side=side, speaking=False)],
            "bot-interrupted": lambda _: [ev.Interrupted(side=side)],
            "bot-tts-text": lambda data: [ev.SpokenText(side=side, text=_text(data, "text"))],
            "user-transcription": self._heard,
            "llm-function-call-in-progress": self._called,
            "llm-function-call-stopped": self._returned,
            "metrics": self._tokens,
            "server-message": self._pushed,
            "error": lambda data: [ev.BotMessage(side=side, kind="error", data=data)],
        }

    def translate(self, item: Inbound) -> list[ev.Event]:
        """Return the events of one message; unknown types give none, malformed ones a note."""
        if isinstance(item, InterruptionMark):
            return [ev.Interrupted(side=self.side)]
        if isinstance(item, StrayAnswer):
            return [self._note(item.note)]
        translator = self._translators.get(item.type)
        if translator is None:
            return []
        if item.data is not None and not isinstance(item.data, dict):
            return [self._note(f"malformed {item.type}: data is not an object")]
        try:
            return translator(item.data or {})
        except ValueError as error:
            return [self._note(f"malformed {item.type}: {error}")]

    def _note(self, text: str) -> ev.ProtocolNote:
        return ev.ProtocolNote(side=self.side, note=text)

    def _heard(self, data: Data) -> list[ev.Event]:
        return [ev.HeardText(side=self.side, text=_text(data, "text"), final=bool(data.get("final", True)))]

    def _called(self, data: Data) -> list[ev.Event]:
        call_id, name = _text(data, "tool_call_id"), str(data.get("function_name") or "")
        arguments = data.get("arguments") or {}
        if not isinstance(arguments, dict):
            raise ValueError("arguments is not an object")
        self._names[call_id] = name
        return [ev.ToolCalled(side=self.side, call_id=call_id, name=name, arguments=arguments)]

    def _returned(self, data: Data) -> list[ev.Event]:
        call_id = _text(data, "tool_call_id")
        name = str(data.get("function_name") or self._names.pop(call_id, ""))
        cancelled = bool(data.get("cancelled", False))
        result = data.get("result")
        return [ev.ToolReturned(side=self.side, call_id=call_id, name=name, result=result, cancelled=cancelled)]

    def _tokens(self, data: Data) -> list[ev.Event]:
        entries = data.get("tokens") or []
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise ValueError("tokens is not a list of objects")
        return [
            ev.TokensUsed(
                side=self.side, prompt=_count(entry, "prompt_tokens"), completion=_count(entry, "completion_tokens")
            )
            for entry in entries
        ]

    def _pushed(self, data: Data) -> list[ev.Event]:
        text = data.get("text")
        if isinstance(text, str):
            if (found := _EXIT.fullmatch(text)) is not None:
                return [ev.ExitRequested(side=self.side, text=found.group(1))]
            if (found := _FINAL.fullmatch(text)) is not None:
                return [ev.BotMessage(side=self.side, kind="final_response", data=found.group(1))]
        kind = data.get("type")
        return [ev.BotMessage(side=self.side, kind=kind if isinstance(kind, str) else "server-message", data=data)]


def _text(data: Data, key: str) -> str:
    value = data.get(key)
    if not isinstance(value, str):
        raise ValueError(f"{key} is not text")
    return value


def _count(entry: Data, key: str) -> int:
    """Return a count of tokens; null counts as none, and a number may come as text."""
    value = entry.get(key)
    value = 0 if value is None else value
    if isinstance(value, str) and value.isdecimal() and len(value) <= _MOST_DIGITS:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MOST_TOKENS:
        raise ValueError(f"{key} is not a count")
    return value
