"""Sessions and items of the OpenAI Realtime API as chat messages."""

from __future__ import annotations

from typing import Any

from duologue.brains.reply import BrainReply

Event = dict[str, Any]


def joined(old: Event, new: Event) -> Event:
    """Return a session with the sections of an update merged into it."""
    merged = dict(old)
    for key, value in new.items():
        both = isinstance(value, dict) and isinstance(old.get(key), dict)
        merged[key] = joined(old[key], value) if both else value
    return merged


def tool_names(session: Event) -> list[str]:
    """Return the names of the session's tools."""
    return [tool["name"] for tool in session.get("tools") or []]


def chat_messages(session: Event, items: list[Event]) -> list[dict[str, object]]:
    """Return what a chat model would be shown of a conversation."""
    instructions = session.get("instructions")
    messages: list[dict[str, Any]] = [{"role": "system", "content": instructions}] if instructions else []
    return messages + [_message(item) for item in items]


def _message(item: Event) -> dict[str, object]:
    if item["type"] == "function_call":
        function = {"name": item["name"], "arguments": item["arguments"]}
        call = {"id": item["call_id"], "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call]}
    if item["type"] == "function_call_output":
        return {"role": "tool", "tool_call_id": item["call_id"], "content": item["output"]}
    words = [part.get("transcript") or part.get("text") or "" for part in item["content"]]
    return {"role": item["role"], "content": " ".join(words).strip()}


def usage_of(messages: list[dict[str, object]], reply: BrainReply) -> Event:
    """Return token counts: words heard and said."""
    heard = sum(len(str(message["content"] or "").split()) for message in messages)
    said = len(reply.text.split()) + len(reply.calls)
    return {"input_tokens": heard, "output_tokens": said, "total_tokens": heard + said}
