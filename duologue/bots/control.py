"""Control messages: one at a time, in arrival order, each with the contract's result."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from duologue.bots.context import ScenarioState, context_text, parse_start
from duologue.bots.tool_calls import Push, ToolCalls
from duologue.config import BotConfig
from duologue.errors import DuologueError, InitializationFailed, InvalidArguments, RegistryError, ToolError
from duologue.records.action import InitAction, Side
from duologue.registry import DEFAULT_DOMAIN, load_domain
from duologue.state.canonical import contract_hash
from duologue.state.initialize import describe
from duologue.toolkit.initialization import initialize
from duologue.toolkit.rules import RULES_NAME, SYNC_RULES, apply_dotted_delta

logger = logging.getLogger(__name__)

Data = Mapping[str, Any]


class Conversation(Protocol):
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
        conversation: the session's pipeline.
        push: sends a server-message to the client.
    """

    def __init__(
        self, config: BotConfig, state: ScenarioState, calls: ToolCalls, conversation: Conversation, push: Push
    ) -> None:
        self._config = config
        self._state = state
        self._calls = calls
        self._conversation = conversation
        self._push = push
        self._turn = asyncio.Lock()
        self._handlers: dict[str, Callable[[Data], Awaitable[Any]]] = {
            "reset": self._reset,
            "update_system_prompt": self._update_system_prompt,
            "apply_initialization": self._apply_initialization,
            "apply_sync_delta": self._apply_sync_delta,
            "get_scenario_summary": self._get_scenario_summary,
            "get_context_history": self._get_context_history,
            "release_action": self._release_action,
            "preflight": self._preflight,
        }

    async def answer(self, kind: str, data: Any) -> Any:
        """Return the result of one control message.

        Raises:
            UnknownMessage: there is no such message.
            Exception: whatever the handler raised; the caller words it as an error response.
        """
        async with self._turn:
            handler = self._handlers.get(kind)
            if handler is None:
                raise UnknownMessage(f"unknown message type: {kind}")
            return await handler(data if isinstance(data, Mapping) else {})

    async def _reset(self, data: Data) -> bool:
        try:
            await self._conversation.restart(self._state.prompt)
        except Exception:
            logger.exception("reset failed")
            return False
        return True

    async def _update_system_prompt(self, data: Data) -> bool:
        try:
            start = parse_start(data, self._config)
            self._conversation.listen_in(start.language)
            await self._conversation.restart(start.prompt)
            start.begin(self._state)
            await self._conversation.show_tools()
        except Exception as error:  # noqa: BLE001 - the contract answers false, never an error response
            logger.warning("update_system_prompt refused: %s", error)
            await self._push({"type": "bot-error", "message": f"update_system_prompt: {error}"})
            return False
        return True

    async def _apply_initialization(self, data: Data) -> dict[str, Any]:
        try:
            shared, actions = _initial_state(data, self._state.side or Side.AGENT)
            self._adopt_domain(data)
            initialize(self._state.side_state, shared, actions)
        except InitializationFailed as error:
            return self._done(str(error).splitlines())
        except RegistryError as error:
            return self._done([describe(error)])
        return self._done([])

    async def _apply_sync_delta(self, data: Data) -> dict[str, Any]:
        delta, state = data.get("delta"), self._state.side_state
        epoch = data.get("epoch")
        if epoch is not None and epoch != self._state.ledger.epoch:
            return self._done([f"delta of epoch {epoch!r}, but this bot is in epoch {self._state.ledger.epoch!r}"])
        if not isinstance(delta, dict):
            return self._done(["delta must be an object"])
        if state.db is None:
            return self._done(["there is no database to apply a delta to"])
        try:
            rules = SYNC_RULES.find(state.domain, RULES_NAME)
            (rules.apply if rules else apply_dotted_delta)(state, delta)
        except ToolError as error:
            return self._done([f"{type(error).__name__}: {error}"])
        except Exception as error:
            logger.exception("a delta could not be applied")
            return self._done([f"{type(error).__name__}: {error}"])
        return self._done([])

    async def _get_scenario_summary(self, data: Data) -> dict[str, Any]:
        state = self._state
        try:
            db = state.side_state.db
            summary: dict[str, Any] = {
                "actions": [action.model_dump(mode="json", exclude_none=True) for action in state.ledger.actions],
                "db_hash": contract_hash(db),
                "digest": state.side_state.digest(),
                "epoch": state.ledger.epoch,
                "prompt_hash": state.prompt_hash,
                "tools": sorted(state.tools),
                "profile": state.side_state.profile,
            }
            if data.get("include_db"):
                summary["db"] = db or None
        except Exception:
            logger.exception("the summary could not be made")
            return {"actions": [], "db_hash": None}
        return summary

    async def _get_context_history(self, data: Data) -> dict[str, Any]:
        return {"context": repr(context_text(self._conversation.messages()))}

    async def _release_action(self, data: Data) -> bool:
        epoch, seq, errors = data.get("epoch"), data.get("seq"), data.get("errors") or []
        if not isinstance(seq, int) or not isinstance(errors, list):
            raise InvalidArguments("release_action needs a whole number seq and a list of errors")
        released = self._calls.release(epoch, seq, bool(data.get("success")), [str(error) for error in errors])
        if not released:
            logger.warning("release of seq %s in epoch %s: no write is waiting for it", seq, epoch)
        return True

    async def _preflight(self, data: Data) -> dict[str, Any]:
        problem = await self._conversation.check_model()
        return {"success": not problem, "errors": [problem] if problem else []}

    def _done(self, errors: list[str]) -> dict[str, Any]:
        return {"success": not errors, "errors": errors, "digest": self._state.side_state.digest()}

    def _adopt_domain(self, data: Data) -> None:
        domain = data.get("domain")
        if not domain or domain == self._state.side_state.domain:
            return
        if domain != DEFAULT_DOMAIN:
            load_domain(str(domain))
        self._state.side_state.domain = str(domain)


def _initial_state(data: Data, side: Side) -> tuple[dict[str, Any], list[InitAction]]:
    """Return the parsed shared state and actions.

    Raises:
        InitializationFailed: the request is malformed.
    """
    shared = data.get("shared_state_init") or {}
    if isinstance(shared, str):
        try:
            shared = json.loads(shared)
        except json.JSONDecodeError as error:
            raise InitializationFailed(f"shared_state_init is not JSON: {error}") from error
    if not isinstance(shared, dict):
        raise InitializationFailed("shared_state_init must be an object")
    actions = data.get("actions") or []
    if not isinstance(actions, list):
        raise InitializationFailed("actions must be a list")
    return shared, [_init_action(action, side) for action in actions]


def _init_action(action: Any, side: Side) -> InitAction:
    if not isinstance(action, dict) or not isinstance(action.get("func_name"), str):
        raise InitializationFailed(f"an action must be an object with func_name, not {action!r}")
    arguments = action.get("arguments") or {}
    if not isinstance(arguments, dict):
        raise InitializationFailed(f"arguments of {action['func_name']} must be an object")
    return InitAction(side=side, func_name=action["func_name"], arguments=arguments)
