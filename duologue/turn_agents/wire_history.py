"""A history of turns as chat messages, with an id on every call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from duologue.turn_agents.calls import TurnCall, extract_calls
from duologue.turn_agents.turn import MessageTurn


def chat_messages(history: Sequence[MessageTurn]) -> list[dict[str, Any]]:
    """Return the whole history in the words of the chat-completions API, without sound.

    Calls that came without an id get one, and so do their results: ``call_<turn>_<number>``.
    """
    messages: list[dict[str, Any]] = []
    waiting: list[str] = []
    for index, turn in enumerate(history):
        message: dict[str, object] = {"role": turn.role, "content": turn.content}
        if turn.role == "assistant":
            calls = extract_calls(turn.tool_calls)
            waiting = [call.call_id or f"call_{index}_{number}" for number, call in enumerate(calls, start=1)]
            if calls:
                message["tool_calls"] = [call.as_chat(name) for call, name in zip(calls, waiting, strict=True)]
        elif turn.role == "tool":
            spare = waiting.pop(0) if waiting else ""
            message["tool_call_id"] = turn.tool_call_id or spare
            message["name"] = turn.name or ""
        messages.append(message)
    return messages


def latest_user_text(history: Sequence[MessageTurn]) -> str:
    """Return the text of the last user turn, empty without one."""
    return next((turn.content for turn in reversed(history) if turn.role == "user"), "")


def assistant_turn(text: str, calls: Sequence[TurnCall], usage: tuple[int | None, int | None]) -> MessageTurn:
    """Return an adapter's answer; ids are kept as the server gave them."""
    entries = [{**call.as_chat(""), "id": call.call_id} for call in calls]
    return MessageTurn("assistant", text, tool_calls=entries or None, input_tokens=usage[0], output_tokens=usage[1])


def token_counts(usage: object, prompt: str, completion: str) -> tuple[int | None, int | None]:
    """Return reported tokens; what is not a whole number was not reported."""
    if not isinstance(usage, dict):
        return None, None
    counts = (usage.get(prompt), usage.get(completion))
    return tuple(count if type(count) is int else None for count in counts)  # type: ignore[return-value]
