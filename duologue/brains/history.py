"""Chat messages as the acts of one side: what it heard, said, called and got back."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Heard:
    """Words of the other side; consecutive messages are one."""

    text: str


@dataclass(frozen=True, slots=True)
class Spoke:
    """Own words, as far as they were played; consecutive messages are one."""

    text: str


@dataclass(frozen=True, slots=True)
class Called:
    """One own tool call and, when ``is_known``, its result. ``is_open`` means that it still runs."""

    name: str
    arguments: dict[str, Any]
    result: Any = None
    is_known: bool = False
    is_open: bool = False

    @property
    def failed(self) -> bool:
        """Whether the tool answered with an error."""
        return isinstance(self.result, dict) and self.result.get("status") == "error"


Act = Heard | Spoke | Called

_NO_RESULT = {"IN_PROGRESS": True, "CANCELLED": False}


def read_acts(messages: list[dict[str, Any]]) -> list[Act]:
    """Return the acts in ``messages``, in order; a call stands where it was made.

    A call without a result is open while nothing was heard or said after it; later it counts as unknown.
    """
    results = {str(message.get("tool_call_id")): message for message in messages if message.get("role") == "tool"}
    acts: list[Act] = []
    for message in messages:
        role, text = message.get("role"), _text(message.get("content"))
        if role == "user" and text:
            _append_words(acts, Heard, text)
        elif role == "assistant":
            if text:
                _append_words(acts, Spoke, text)
            acts.extend(_call(call, results) for call in message.get("tool_calls") or [])
    return _settle(acts)


def _append_words(acts: list[Act], kind: type[Heard] | type[Spoke], text: str) -> None:
    last = acts[-1] if acts else None
    if isinstance(last, kind):
        acts[-1] = kind(f"{last.text} {text}")
    else:
        acts.append(kind(text))


def _text(content: object) -> str:
    if isinstance(content, str):
        return content.strip()
    if isinstance(content, list):
        parts = [str(part.get("text", "")) for part in content if isinstance(part, dict)]
        return " ".join(part for part in parts if part).strip()
    return ""


def _call(call: dict[str, Any], results: dict[str, dict[str, object]]) -> Called:
    function = call.get("function") or {}
    arguments = _json(function.get("arguments") or "{}")
    name = str(function.get("name"))
    answer = results.get(str(call.get("id")))
    if answer is None:
        return Called(name, arguments if isinstance(arguments, dict) else {}, is_open=True)
    value = _json(_text(answer.get("content")))
    if isinstance(value, str) and value in _NO_RESULT:
        return Called(name, arguments, is_open=_NO_RESULT[value])
    return Called(name, arguments, value, is_known=True)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _settle(acts: list[Act]) -> list[Act]:
    last_words = max((index for index, act in enumerate(acts) if not isinstance(act, Called)), default=-1)
    return [
        Called(act.name, act.arguments) if isinstance(act, Called) and act.is_open and index < last_words else act
        for index, act in enumerate(acts)
    ]
