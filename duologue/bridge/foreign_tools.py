"""Tools that the harness runs, on its own database: the bot forwards its calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from duologue.bridge.party import CallContext
from duologue.bridge.reconcile import Reconciler
from duologue.bridge.state_sync import StateSync
from duologue.errors import MalformedRequest, ProtocolViolation
from duologue.protocol import messages
from duologue.protocol.bodies import TOOL_CALL, ToolCallBody
from duologue.protocol.messages import RtviMessage
from duologue.protocol.replies import parse_flag
from duologue.protocol.requests import StrayAnswer
from duologue.records.action import Side
from duologue.records.event import ActionApplied, BotMessage, ExitRequested, ToolCalled, ToolReturned
from duologue.records.scenario import Scenario
from duologue.toolkit.side_host import crash_report, find_tools


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
    try:
        body = ToolCallBody.read(TOOL_CALL, data)
    except MalformedRequest as error:
        raise ProtocolViolation(
            f'the {side} bot forwarded a malformed tool call ({error}); expected {{"type": "{TOOL_CALL}", "id": text, '
            '"name": text, "arguments": object}',
            side=side,
        ) from error
    return ToolRequest(side, body.id, body.name, body.arguments)


def tool_schemas(scenario: Scenario, side: Side) -> list[dict[str, object]]:
    """Return name, description and JSON schema of every tool that ``side`` may call.

    Raises:
        RegistryError: the scenario names a tool that its domain lacks.
    """
    tools = find_tools(scenario.domain, scenario.side(side).resources.tools)
    return [{"name": tool.name, "description": tool.description, "parameters": tool.schema} for tool in tools.values()]


class ForeignTools:
    """Runs forwarded calls.

    Args:
        attempt: the call.
        shadows: both databases; the bot's side of them is the only one there is.
        sync: carries writes over to the other side.
    """

    def __init__(self, attempt: CallContext, shadows: Reconciler, sync: StateSync) -> None:
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
            ResourceFailed: a resource that the tool uses is not there or not in order.
            BotError: a connection failed, or the bot did not take the result.
        """
        side, log = request.side, self._attempt.log
        done = await self._shadows.perform(side, request.name, request.arguments, self._attempt.clones)
        if done.crash:
            log.write(BotMessage(side=side, kind="bot-error", data=crash_report(done.crash)))
        if done.action is not None:
            log.write(ActionApplied(side=side, action=done.action.model_copy(update={"side": side, "epoch": None})))
            await self._sync.carry_over(side)
        await self._answer(request, done.value, ends_call=bool(done.exit_text))
        log.write(ToolReturned(side=side, call_id=request.call_id, name=request.name, result=done.value))
        if done.exit_text:
            log.write(ExitRequested(side=side, text=done.exit_text))
        return bool(done.exit_text)

    async def _answer(self, request: ToolRequest, result: object, *, ends_call: bool) -> None:
        control = messages.tool_result(request.call_id, request.name, result, ends_call=ends_call)
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
