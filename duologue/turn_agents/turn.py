"""The turn: what a turn agent is given a history of, and what it answers with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

Role = Literal["user", "assistant", "system", "tool"]


@dataclass
class MessageTurn:
    """One turn of a conversation.

    ``tool_calls`` is the agent's request, in either of the shapes that :mod:`duologue.turn_agents.calls` reads.
    Cost, latency and tokens are None when they are not reported, never 0 for that.
    """

    role: Role
    content: str = ""
    name: str | None = None
    tool_calls: list[dict[str, Any]] | None = None
    tool_call_id: str | None = None
    cost_usd: float | None = None
    latency_ms: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


@dataclass
class AudioMessageTurn(MessageTurn):
    """A turn with sound: the file of a user's utterance, or the answer of an agent that speaks.

    User turns carry the recognized text as well, so an agent that knows only the base class works unchanged.
    ``audio_output`` is never scored.
    """

    audio_input: bytes | None = None
    audio_output: bytes | None = None


TurnAgent = Callable[[list[MessageTurn], list[dict[str, object]]], Awaitable[MessageTurn]]
"""``async (history, tool_manifest) -> next assistant turn``. The manifest is the record's own, at every call."""


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """Which task a conversation belongs to. ``session_id`` differs between any two attempts."""

    domain: str
    task_id: str
    session_id: str
    trial: int = 1


@runtime_checkable
class TaskAware(Protocol):
    """A turn agent that wants to know the task: its ``for_task`` gives the agent of one conversation."""

    def for_task(self, task: TaskInfo) -> TurnAgent:
        """Return the agent that answers in this task and no other."""
        ...


def agent_for(agent: TurnAgent, task: TaskInfo) -> TurnAgent:
    """Return the agent of one conversation."""
    return agent.for_task(task) if isinstance(agent, TaskAware) else agent
