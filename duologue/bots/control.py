"""Control messages: one at a time, in arrival order, each with the contract's result."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from duologue.bots.context import ScenarioState, context_text, parse_start
from duologue.bots.tool_calls import Push, ToolCalls
from duologue.config import BotConfig
from duologue.errors import DuologueError
from duologue.protocol.bodies import ReleaseBody, ToolResultBody

logger = logging.getLogger(__name__)

Data = Mapping[str, object]


class PipelineControls(Protocol):
    """What the control messages do to the running pipeline."""

    async def restart(self, prompt: str) -> None:
        """Silence the bot, forget what was heard, and leave only the system prompt in the context."""
        ...

    def listen_in(self, language: str | None) -> None:
        """Hear a language; None takes the configured one. Raises ConfigError when no model at hand hears it."""
        ...

    async def show_tools(self) -> None:
        """Show the model the session's current tools."""
        ...

    def messages(self) -> list[Any]:
        """Return the chat messages of the context."""
        ...

    async def check_model(self) -> str:
        """Ask the model something cheap; return what is wrong with it, or an empty text."""
        ...


class UnknownMessage(DuologueError):
    """The client sent a control message that does not exist."""


class Control:
    """Answers the client's control messages for one session.

    Args:
        config: the bot's settings.
        state: the session's scenario state.
        calls: the session's tool calls.
        pipeline: the session's pipeline.
        push: sends a server-message to the client.
    """

    def __init__(
        self, config: BotConfig, state: ScenarioState, calls: ToolCalls, pipeline: PipelineControls, push: Push
    ) -> None:
        self._config = config
        self._state = state
        self._calls = calls
        self._pipeline = pipeline
        self._push = push
        self._turn = asyncio.Lock()
        self._handlers: dict[str, Callable[[Data], Awaitable[object]]] = {
            "reset": self._reset,
            "update_system_prompt": self._update_system_prompt,
            "get_context_history": self._get_context_history,
            "release_action": self._release_action,
            "tool-result": self._tool_result,
            "preflight": self._preflight,
        }

    async def answer(self, kind: str, data: object) -> object:
        """Return the result of one control message.

        Raises:
            UnknownMessage: there is no such message.
            Exception: whatever the handler raised; the caller words it as an error response.
        """
        async with self._turn:
            about_state = self._state.host.answer(kind, data)
            if about_state is not None:
                return about_state
            handler = self._handlers.get(kind)
            if handler is None:
                raise UnknownMessage(f"unknown message type: {kind}")
            return await handler(data if isinstance(data, Mapping) else {})

    async def _reset(self, data: Data) -> bool:
        try:
            await self._pipeline.restart(self._state.host.prompt)
        except Exception:
            logger.exception("reset failed")
            return False
        return True

    async def _update_system_prompt(self, data: Data) -> bool:
        try:
            start = parse_start(data, self._config)
            self._pipeline.listen_in(start.body.language)
            await self._pipeline.restart(start.prompt)
            start.begin(self._state)
            await self._pipeline.show_tools()
        except Exception as error:  # noqa: BLE001 - the contract answers false, never an error response
            logger.warning("update_system_prompt refused: %s", error)
            await self._push({"type": "bot-error", "message": f"update_system_prompt: {error}"})
            return False
        return True

    async def _get_context_history(self, data: Data) -> dict[str, object]:
        return {"context": repr(context_text(self._pipeline.messages()))}

    async def _release_action(self, data: Data) -> bool:
        return self._calls.release(ReleaseBody.read("release_action", data))

    async def _tool_result(self, data: Data) -> bool:
        return self._calls.take_result(ToolResultBody.read("tool-result", data))

    async def _preflight(self, data: Data) -> dict[str, object]:
        problem = await self._pipeline.check_model()
        return {"success": not problem, "errors": [problem] if problem else []}
