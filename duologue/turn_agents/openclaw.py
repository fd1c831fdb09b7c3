"""Adapter for an OpenClaw gateway: its responses endpoint, with the tools on our side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from duologue.errors import TurnAgentError
from duologue.turn_agents.calls import TurnCall, merge_calls, parse_arguments
from duologue.turn_agents.endpoint import EndpointSettings, JsonEndpoint, seconds_from
from duologue.turn_agents.manifest import WireNames
from duologue.turn_agents.turn import MessageTurn, TaskInfo
from duologue.turn_agents.wire_history import assistant_turn, chat_messages, token_counts

DEFAULT_URL = "http://localhost:18789"
DEFAULT_MODEL = "openclaw:main"
PATH = "/v1/responses"


def openclaw_settings(url: str, env: Mapping[str, str]) -> EndpointSettings:
    """Return where the gateway is: ``url``, else ``OPENCLAW_GATEWAY_URL``, else port 18789.

    ``OPENCLAW_GATEWAY_TOKEN``, ``OPENCLAW_HTTP_TIMEOUT`` (120 s) and ``OPENCLAW_WAIT_TIMEOUT`` (60 s) are read too.

    Raises:
        ConfigError: the address or a time is malformed.
    """
    return EndpointSettings(
        name="openclaw",
        base_url=(url or env.get("OPENCLAW_GATEWAY_URL") or DEFAULT_URL).removesuffix("/v1"),
        token=env.get("OPENCLAW_GATEWAY_TOKEN", ""),
        timeout_s=seconds_from(env, "OPENCLAW_HTTP_TIMEOUT", 120.0),
        wait_s=seconds_from(env, "OPENCLAW_WAIT_TIMEOUT", 60.0),
    )


class OpenClawAgent:
    """Sends the whole history as items, so the gateway needs no session of its own and nothing leaks between tasks.

    Args:
        endpoint: the gateway.
        model: ``openclaw:<agent id>``.
        task: the conversation's task.
    """

    def __init__(self, endpoint: JsonEndpoint, model: str = DEFAULT_MODEL, task: TaskInfo | None = None) -> None:
        self.endpoint = endpoint
        self._model = model
        self._task = task

    def for_task(self, task: TaskInfo) -> OpenClawAgent:
        """Return the agent of one conversation, on the same connections."""
        return OpenClawAgent(self.endpoint, self._model, task)

    async def __call__(self, history: list[MessageTurn], tool_manifest: list[dict[str, Any]]) -> MessageTurn:
        """Return the next turn.

        Raises:
            TurnAgentError: see :meth:`JsonEndpoint.post`; also when the answer has no output, or says that it failed.
        """
        names = WireNames.of(tool_manifest)
        body: dict[str, Any] = {"model": self._model, "input": list(_items(history, names)), "stream": False}
        if tool_manifest:
            body["tools"] = [{"type": "function", **item} for item in names.functions(tool_manifest)]
        if self._task is not None:
            body["metadata"] = {"task_id": self._task.task_id, "session_id": self._task.session_id}
        answer = await self.endpoint.post(PATH, body)
        output = answer.get("output")
        if answer.get("status") == "failed" or not isinstance(output, list):
            raise TurnAgentError(f"{PATH}: no output ({answer.get('error') or answer.get('status')})")
        items = [item for item in output if isinstance(item, dict)]
        usage = token_counts(answer.get("usage"), "input_tokens", "output_tokens")
        return assistant_turn(_text(items), merge_calls(_calls(items, names)), usage)


def _items(history: Sequence[MessageTurn], names: WireNames) -> Iterator[dict[str, object]]:
    for message in chat_messages(history):
        if message["role"] == "tool":
            yield {"type": "function_call_output", "call_id": message["tool_call_id"], "output": message["content"]}
            continue
        if message["content"]:
            yield {"type": "message", "role": message["role"], "content": message["content"]}
        for call in message.get("tool_calls", ()):
            function = {**call["function"], "name": names.to_wire(call["function"]["name"])}
            yield {"type": "function_call", "call_id": call["id"], **function}


def _text(items: Sequence[Mapping[str, object]]) -> str:
    parts = [part for item in items if item.get("type") == "message" for part in _parts(item.get("content"))]
    return "".join(parts)


def _parts(content: object) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            yield part["text"]


def _calls(items: Sequence[Mapping[str, object]], names: WireNames) -> Iterator[TurnCall]:
    for item in items:
        if item.get("type") == "function_call":
            name, call_id = str(item.get("name") or ""), item.get("call_id")
            arguments = parse_arguments(item.get("arguments"), name)
            yield TurnCall(None if call_id is None else str(call_id), names.from_wire(name), arguments)
