"""The run loop of a turn agent: a user turn in, tool calls answered by a constant envelope, a reply out."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from duologue.clock import Clock
from duologue.errors import TurnAgentError
from duologue.records.action import Side
from duologue.records.event import Event, TokensUsed, ToolCalled, ToolReturned
from duologue.turn_agents.calls import TurnCall, extract_calls
from duologue.turn_agents.turn import AudioMessageTurn, MessageTurn, TurnAgent

MAX_TOOL_TURNS = 8
"""How many assistant turns with calls the agent gets for one user turn."""


class Dispatch(StrEnum):
    """``LOOP``: tool results go back until the agent answers without calls. ``ONCE``: the first calls end the turn."""

    LOOP = "loop"
    ONCE = "once"


@dataclass(frozen=True, slots=True)
class TurnReply:
    """What became of one user turn.

    ``text`` is None when the agent was still calling tools at the cap. ``wall_ms`` is the time that the agent took.
    """

    text: str | None
    tool_turns: int
    wall_ms: int
    cost_usd: float | None = None


@dataclass(slots=True)
class TurnLoop:
    """One conversation with a turn agent.

    Args:
        agent: answers turns.
        manifest: the tools, handed over unchanged at each call.
        clock: measures the agent.
        on_event: is given calls, results and tokens as they happen.
        dispatch: see :class:`Dispatch`.
        timeout_s: how long the agent may take for one turn.
    """

    agent: TurnAgent
    manifest: list[dict[str, Any]]
    clock: Clock
    on_event: Callable[[Event], None]
    dispatch: Dispatch = Dispatch.LOOP
    timeout_s: float = 600.0
    history: list[MessageTurn] = field(default_factory=list)

    async def answer(self, text: str, audio: bytes | None = None) -> TurnReply:
        """Say one user turn and return the agent's reply to it.

        Raises:
            TurnAgentError: the agent took too long, or what it returned is not a turn.
            Exception: whatever else the agent raises.
        """
        self.history.append(AudioMessageTurn(role="user", content=text, audio_input=audio))
        started, costs = self.clock.monotonic(), []
        reply, tool_turns = None, 0
        for tool_turns in range(MAX_TOOL_TURNS + 1):
            if tool_turns == MAX_TOOL_TURNS:
                break
            turn = await self._ask()
            costs += [turn.cost_usd] if turn.cost_usd is not None else []
            calls = extract_calls(turn.tool_calls)
            for call in calls:
                self._return_envelope(call)
            if not calls or self.dispatch is Dispatch.ONCE:
                reply, tool_turns = turn.content, tool_turns + bool(calls)
                break
        wall_ms = round((self.clock.monotonic() - started) * 1000)
        return TurnReply(reply, tool_turns, wall_ms, sum(costs) if costs else None)

    def messages(self) -> tuple[dict[str, Any], ...]:
        """Return the history as JSON objects without sound and without what is not set."""
        kept = []
        for turn in self.history:
            values = asdict(turn)
            values.pop("audio_input", None)
            values.pop("audio_output", None)
            kept.append({key: value for key, value in values.items() if value is not None})
        return tuple(json.loads(json.dumps(kept, default=str)))

    async def _ask(self) -> MessageTurn:
        answer = self.agent(list(self.history), self.manifest)
        if not inspect.isawaitable(answer):
            raise TurnAgentError("the turn agent is not asynchronous: calling it must give something to await")
        try:
            async with asyncio.timeout(self.timeout_s):
                turn = await answer
        except TimeoutError as error:
            raise TurnAgentError(f"the turn agent gave no turn within {self.timeout_s:g} s") from error
        if not isinstance(turn, MessageTurn):
            raise TurnAgentError(f"the turn agent returned {type(turn).__name__}, not a MessageTurn")
        turn.content = turn.content or ""
        self.history.append(turn)
        if turn.input_tokens is not None or turn.output_tokens is not None:
            tokens = TokensUsed(side=Side.AGENT, prompt=turn.input_tokens or 0, completion=turn.output_tokens or 0)
            self.on_event(tokens)
        return turn

    def _return_envelope(self, call: TurnCall) -> None:
        """Answer a call. The envelope is the same for every tool, so no identifier ever comes back."""
        result = {"ok": True, "tool": call.name, "args": call.arguments}
        call_id = call.call_id or ""
        self.on_event(ToolCalled(side=Side.AGENT, call_id=call_id, name=call.name, arguments=call.arguments))
        content = json.dumps(result, ensure_ascii=False)
        self.history.append(MessageTurn("tool", content, name=call.name, tool_call_id=call.call_id))
        self.on_event(ToolReturned(side=Side.AGENT, call_id=call_id, name=call.name, result=result))
