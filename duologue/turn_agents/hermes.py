"""Adapter for a Hermes agent: its OpenAI-compatible chat-completions server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from duologue.errors import TurnAgentError
from duologue.turn_agents.calls import TurnCall, extract_calls, merge_calls
from duologue.turn_agents.endpoint import EndpointSettings, JsonEndpoint, seconds_from
from duologue.turn_agents.manifest import WireNames
from duologue.turn_agents.turn import MessageTurn, TaskInfo
from duologue.turn_agents.wire_history import assistant_turn, chat_messages, token_counts

DEFAULT_URL = "http://localhost:8642"
DEFAULT_MODEL = "hermes-agent"
PATH = "/v1/chat/completions"


def hermes_settings(url: str, env: Mapping[str, str]) -> EndpointSettings:
    """Return where the server is: ``url``, else ``HERMES_API_URL``, else port 8642.

    ``HERMES_API_KEY``, ``HERMES_HTTP_TIMEOUT`` (120 s) and ``HERMES_WAIT_TIMEOUT`` (60 s) are read too.

    Raises:
        ConfigError: the address or a time is malformed.
    """
    return EndpointSettings(
        name="hermes",
        base_url=(url or env.get("HERMES_API_URL") or DEFAULT_URL).removesuffix("/v1"),
        token=env.get("HERMES_API_KEY", ""),
        timeout_s=seconds_from(env, "HERMES_HTTP_TIMEOUT", 120.0),
        wait_s=seconds_from(env, "HERMES_WAIT_TIMEOUT", 60.0),
    )


class HermesAgent:
    """Sends the whole history as chat messages with the tools; the task goes along as metadata.

    Args:
        endpoint: the server.
        model: the model name to ask for.
        task: the conversation's task.
    """

    def __init__(self, endpoint: JsonEndpoint, model: str = DEFAULT_MODEL, task: TaskInfo | None = None) -> None:
        self.endpoint = endpoint
        self._model = model
        self._task = task

    def for_task(self, task: TaskInfo) -> HermesAgent:
        """Return the agent of one conversation, on the same connections."""
        return HermesAgent(self.endpoint, self._model, task)

    async def __call__(self, history: list[MessageTurn], tool_manifest: list[dict[str, Any]]) -> MessageTurn:
        """Return the next turn.

        Raises:
            TurnAgentError: see :meth:`JsonEndpoint.post`; also when the answer holds no message.
        """
        names = WireNames.of(tool_manifest)
        messages = chat_messages(history)
        for call in (call for message in messages for call in message.get("tool_calls", ())):
            call["function"]["name"] = names.to_wire(call["function"]["name"])
        body: dict[str, Any] = {"model": self._model, "messages": messages, "stream": False}
        if tool_manifest:
            body["tools"] = [{"type": "function", "function": item} for item in names.functions(tool_manifest)]
        if self._task is not None:
            body["metadata"] = {"task_id": self._task.task_id, "session_id": self._task.session_id}
        answer = await self.endpoint.post(PATH, body)
        message = _message(answer)
        calls = merge_calls(extract_calls(message.get("tool_calls")))
        renamed = [TurnCall(call.call_id, names.from_wire(call.name), call.arguments) for call in calls]
        usage = token_counts(answer.get("usage"), "prompt_tokens", "completion_tokens")
        return assistant_turn(str(message.get("content") or ""), renamed, usage)


def _message(answer: Mapping[str, object]) -> dict[str, Any]:
    choices = answer.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    if not isinstance(message, dict):
        raise TurnAgentError(f"{PATH}: the answer has no choices[0].message")
    return message
