"""Tool calls as turns carry them, read into one form."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from duologue.errors import TurnAgentError

_FLAT_ARGUMENTS = ("arguments", "kwargs", "parameters")


@dataclass(frozen=True, slots=True)
class TurnCall:
    """One tool call. ``call_id`` is None when the agent gave none; a call without a name has an empty one."""

    call_id: str | None
    name: str
    arguments: dict[str, Any] = field(default_factory=dict)

    def as_chat(self, call_id: str) -> dict[str, object]:
        """Return the call as a chat-completions entry under ``call_id``."""
        function = {"name": self.name, "arguments": json.dumps(self.arguments, ensure_ascii=False)}
        return {"id": call_id, "type": "function", "function": function}


def extract_calls(tool_calls: Sequence[object] | None) -> list[TurnCall]:
    """Return the calls of one turn, in order.

    An entry is ``{"id", "function": {"name", "arguments"}}`` or flat: ``name`` or ``tool_name`` with the first of
    ``arguments``, ``kwargs`` and ``parameters`` that holds something. Arguments may be JSON text in both; text that
    is not a JSON object reads as none. What is not an object is dropped.

    Raises:
        TurnAgentError: arguments hold something that JSON cannot.
    """
    return [_call(entry) for entry in tool_calls or () if isinstance(entry, dict)]


def _call(entry: dict[str, object]) -> TurnCall:
    function = entry.get("function")
    if isinstance(function, dict):
        name, raw = function.get("name"), function.get("arguments")
    else:
        name = entry.get("name") or entry.get("tool_name")
        raw = next((entry[key] for key in _FLAT_ARGUMENTS if entry.get(key)), None)
    call_id = entry.get("id")
    text = "" if name is None else str(name)
    return TurnCall(None if call_id is None else str(call_id), text, parse_arguments(raw, text))


def parse_arguments(raw: object, name: str = "") -> dict[str, object]:
    """Return arguments given as an object or as JSON text; anything else reads as none.

    Raises:
        TurnAgentError: an object holds something that JSON cannot.
    """
    if isinstance(raw, str):
        try:
            raw = json.loads(raw, parse_constant=_not_json)
        except ValueError:
            return {}
    if not isinstance(raw, dict):
        return {}
    try:
        plain = json.loads(json.dumps(raw, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise TurnAgentError(f"the arguments of call {name!r} are not JSON ({error})") from error
    return dict(plain)


def _not_json(constant: str) -> object:
    raise ValueError(f"{constant} is not JSON")


def merge_calls(*lists: Iterable[TurnCall]) -> list[TurnCall]:
    """Return the calls of one reply that lists them in several places, each once.

    A call of a later list repeats one of an earlier list when both have the same id, or when one has none and name
    and arguments agree; within a list only an id can repeat, since one tool may well be called twice alike.
    """
    merged: list[TurnCall] = []
    for calls in lists:
        earlier = list(merged)
        for call in calls:
            repeated = next((known for known in earlier if _is_same(known, call)), None)
            if repeated is not None:
                earlier.remove(repeated)
            elif call.call_id is None or all(known.call_id != call.call_id for known in merged):
                merged.append(call)
    return merged


def _is_same(known: TurnCall, call: TurnCall) -> bool:
    if known.call_id is not None and call.call_id is not None:
        return known.call_id == call.call_id
    return (known.name, known.arguments) == (call.name, call.arguments)
