"""Adapter for an eliza runtime: its benchmark endpoint over HTTP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from duologue.errors import TurnAgentError
from duologue.turn_agents.calls import TurnCall, extract_calls, merge_calls, parse_arguments
from duologue.turn_agents.endpoint import EndpointSettings, JsonEndpoint, seconds_from
from duologue.turn_agents.turn import MessageTurn, TaskInfo
from duologue.turn_agents.wire_history import assistant_turn, chat_messages, latest_user_text, token_counts

DEFAULT_URL = "http://localhost:31337"
PATH = "/api/benchmark/message"

_ACTION_NAMES = ("toolName", "tool_name")


def eliza_settings(url: str, env: Mapping[str, str]) -> EndpointSettings:
    """Return where the runtime is: ``url``, else ``ELIZA_BENCH_URL``, else ``ELIZA_API_BASE``, else port 31337.

    ``ELIZA_BENCH_TOKEN``, ``ELIZA_BENCH_HTTP_TIMEOUT`` (120 s) and ``ELIZA_WAIT_TIMEOUT`` (60 s) are read too.

    Raises:
        ConfigError: the address or a time is malformed.
    """
    return EndpointSettings(
        name="eliza",
        base_url=url or env.get("ELIZA_BENCH_URL") or env.get("ELIZA_API_BASE") or DEFAULT_URL,
        token=env.get("ELIZA_BENCH_TOKEN", ""),
        timeout_s=seconds_from(env, "ELIZA_BENCH_HTTP_TIMEOUT", 120.0),
        wait_s=seconds_from(env, "ELIZA_WAIT_TIMEOUT", 60.0),
    )


class ElizaAgent:
    """Sends the latest user text with the whole history, the tools and the task; leaves tool use to the agent.

    Args:
        endpoint: the runtime.
        task: the conversation's task.
    """

    def __init__(self, endpoint: JsonEndpoint, task: TaskInfo | None = None) -> None:
        self.endpoint = endpoint
        self._task = task

    def for_task(self, task: TaskInfo) -> ElizaAgent:
        """Return the agent of one conversation, on the same connections."""
        return ElizaAgent(self.endpoint, task)

    async def __call__(self, history: list[MessageTurn], tool_manifest: Sequence[Mapping[str, object]]) -> MessageTurn:
        """Return the next turn.

        Raises:
            TurnAgentError: see :meth:`JsonEndpoint.post`; also when the answer holds no text and no calls at all.
        """
        context: dict[str, object] = {"history": chat_messages(history), "tools": tool_manifest}
        if self._task is not None:
            context |= {
                "benchmark": self._task.domain,
                "task_id": self._task.task_id,
                "session_id": self._task.session_id,
            }
        answer = await self.endpoint.post(PATH, {"text": latest_user_text(history), "context": context})
        text, actions, calls = answer.get("text"), answer.get("captured_actions"), answer.get("tool_calls")
        if text is None and actions is None and calls is None:
            raise TurnAgentError(f"{PATH}: the answer has none of text, captured_actions and tool_calls")
        merged = merge_calls(extract_calls(_list(calls)), map(_action, filter(_is_object, _list(actions))))
        usage = token_counts(answer.get("usage"), "prompt_tokens", "completion_tokens")
        return assistant_turn("" if text is None else str(text), merged, usage)


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _action(entry: Mapping[str, object]) -> TurnCall:
    """Return a captured action as a call: its name stands in one of four places, its arguments in one of two."""
    found = entry.get("params")
    params: dict[str, object] = found if isinstance(found, dict) else {}
    name = next((entry[key] for key in _ACTION_NAMES if entry.get(key)), None)
    name = str(name or params.get("tool_name") or entry.get("command") or "")
    given = entry.get("arguments") or {key: value for key, value in params.items() if key != "tool_name"}
    call_id = entry.get("id")
    return TurnCall(None if call_id is None else str(call_id), name, parse_arguments(given, name))
