"""Tools of a bot that cannot host them: it forwards its calls, and the harness runs them on its own database."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from duologue.bridge.party import Attempt
from duologue.bridge.reconcile import Reconciler
from duologue.bridge.state_sync import StateSync
from duologue.errors import ProtocolViolation
from duologue.protocol import messages
from duologue.protocol.messages import RtviMessage
from duologue.protocol.replies import parse_flag
from duologue.protocol.requests import StrayAnswer
from duologue.records.action import Side
from duologue.records.event import ActionApplied, ExitRequested, ToolCalled, ToolReturned
from duologue.records.scenario import Scenario
from duologue.toolkit.results import error_value, normalized
from duologue.toolkit.tool import Tool, find_tool

TOOL_CALL = "tool-call"


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """A tool call that a bot forwarded."""

    side: Side
    call_id: str
    name: str
    arguments: dict[str, Any]


def parse_tool_call(side: Side, item: object) -> ToolRequest | None:
    """Return the tool call in a pushed message, or None for anything else.

    Raises:
        ProtocolViolation: it is one, but malformed.
    """
    if isinstance(item, StrayAnswer) or not isinstance(item, RtviMessage) or item.type != "server-message":
        return None
    data = item.data
    if not isinstance(data, dict) or data.get("type") != TOOL_CALL:
        return None
    call_id, name, arguments = data.get("id"), data.get("name"), data.get("arguments") or {}
    if not isinstance(call_id, str) or not call_id or not isinstance(name, str) or not isinstance(arguments, dict):
        raise ProtocolViolation(
            f'the {side} bot forwarded a malformed tool call; expected {{"type": "{TOOL_CALL}", "id": text, '
            '"name": text, "arguments": object}',
            side=side,
        )
    return ToolRequest(side, call_id, name, arguments)


def tool_schemas(scenario: Scenario, side: Side) -> list[dict[str, Any]]:
    """Return name, description and JSON schema of every tool that ``side`` may call.

    Raises:
        RegistryError: the scenario names a tool that its domain lacks.
    """
    return [_schema(tool) for tool in _tools(scenario, side).values()]


class ForeignTools:
    """Runs forwarded calls.

    Args:
        attempt: the call.
        shadows: both databases; the bot's side of them is the only one there is.
        sync: carries writes over to the other side.
    """

    def __init__(self, attempt: Attempt, shadows: Reconciler, sync: StateSync) -> None:
        self._attempt = attempt
        self._shadows = shadows
        self._sync = sync
        self._seen: set[tuple[Side, str]] = set()

    def admit(self, request: ToolRequest) -> bool:
        """Log a call and return whether it is to be run; a repeated id is not."""
        key = (request.side, request.call_id)
        if key in self._seen:
            self._attempt.log.note(request.side, f"tool call {request.call_id[:60]!r} was forwarded again; dropped")
            return False
        self._seen.add(key)
        self._attempt.log.write(
            ToolCalled(side=request.side, call_id=request.call_id, name=request.name, arguments=dict(request.arguments))
        )
        return True

    async def run(self, request: ToolRequest) -> bool:
        """Run a call, tell the other side, answer; return whether the call is over with it.

        Raises:
            ReconcileFailed: the other side could not be brought up to date.
            BotError: a connection failed, or the bot did not take the result.
        """
        tool = _tools(self._attempt.scenario, request.side).get(request.name)
        result, has_ended = await self._result(request, tool)
        await self._answer(request, result)
        self._attempt.log.write(
            ToolReturned(side=request.side, call_id=request.call_id, name=request.name, result=result)
        )
        if tool is None or not has_ended:
            return False
        self._attempt.log.write(ExitRequested(side=request.side, text=tool.exit_text))
        return True

    async def _result(self, request: ToolRequest, tool: Tool | None) -> tuple[Any, bool]:
        """Return what the bot's model is shown, and whether the tool hung up."""
        if tool is None:
            names = sorted(_tools(self._attempt.scenario, request.side))
            return error_value("unknown_tool", f"there is no tool {request.name!r}", available_tools=names), False
        side = request.side
        outcome = self._shadows.perform(side, request.name, request.arguments)
        if outcome.is_recorded:
            action = self._shadows.streams[side][-1].model_copy(update={"side": side, "epoch": None})
            self._attempt.log.write(ActionApplied(side=side, action=action))
            await self._sync.carry_over(side)
        return normalized(outcome.value), outcome.ok and bool(tool.exit_text)

    async def _answer(self, request: ToolRequest, result: Any) -> None:
        control = messages.tool_result(request.call_id, request.name, result)
        timeout_s = self._attempt.settings.request_timeout_s
        request_id, d = await self._attempt.party(request.side).connection.request(control, timeout_s)
        try:
            is_taken = parse_flag(d)
        except ValueError as error:
            raise ProtocolViolation(
                f"the {request.side} bot's answer to tool-result: {error}", side=request.side, request_id=request_id
            ) from error
        if not is_taken:
            self._attempt.log.note(request.side, f"nobody waited for the result of {request.name}")


def _tools(scenario: Scenario, side: Side) -> dict[str, Tool]:
    wanted = scenario.side(side).resources.tools
    return {name: find_tool(scenario.domain, name, settings) for name, settings in wanted.items()}


def _schema(tool: Tool) -> dict[str, Any]:
    parameters = {"type": "object", "properties": dict(tool.properties), "required": list(tool.required)}
    return {"name": tool.name, "description": tool.description, "parameters": parameters}
