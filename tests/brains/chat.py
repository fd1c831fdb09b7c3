"""Short ways to write chat messages."""

import json


def heard(text: str) -> dict:
    return {"role": "user", "content": text}


def spoke(text: str) -> dict:
    return {"role": "assistant", "content": text}


def called(name: str, arguments: dict | None = None, result: object = None, call_id: str = "1") -> list[dict]:
    """A call and its result; without a result the call is still open."""
    function = {"name": name, "arguments": json.dumps(arguments or {})}
    call = {"role": "assistant", "content": None, "tool_calls": [{"id": call_id, "function": function}]}
    if result is None:
        return [call]
    content = result if isinstance(result, str) else json.dumps(result)
    return [call, {"role": "tool", "tool_call_id": call_id, "content": content}]
