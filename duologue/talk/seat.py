"""What a bot would hold of its side of a scenario, held for a person: database, tools, action log. No I/O."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from duologue.errors import MalformedRequest
from duologue.protocol.bodies import TOOL_CALL, ReleaseBody, StartBody, ToolResultBody
from duologue.protocol.messages import ControlRequest, RtviMessage
from duologue.records.action import RecordedAction, Side
from duologue.toolkit.side_host import Key, SideHost, crash_report, find_tools, sync_problem
from duologue.toolkit.tool import END_CALL_TEXT


class Seat:
    """One side of one scenario. It answers the bridge's requests and performs what the person asks for.

    ``say_goodbye`` is the sentence of the exit that is pushed when the side hangs up without a tool.
    """

    def __init__(self, side: Side, say_goodbye: str = END_CALL_TEXT) -> None:
        self.side = side
        self.host = SideHost()
        self._goodbye = say_goodbye
        self._closing: dict[Key, tuple[RecordedAction, list[RtviMessage]]] = {}
        self._is_forwarding = False
        self._forwarded: dict[str, dict[str, Any]] = {}

    @property
    def is_waiting(self) -> bool:
        """Whether a write waits until the other side has been brought up to date."""
        return self.host.is_waiting or bool(self._forwarded)

    def answer(self, control: ControlRequest) -> tuple[Any, list[RtviMessage]]:
        """Carry out a request of the bridge; return the ``d`` of the answer and what is pushed after it.

        Raises:
            MalformedRequest: there is no such request, or its fields do not fit.
            RegistryError: a tool is unknown.
        """
        about_state = self.host.answer(control.t, control.d)
        if about_state is not None:
            return about_state, []
        match control.t:
            case "reset":
                return True, []
            case "update_system_prompt":
                return self._begin(StartBody.read(control.t, control.d)), []
            case "get_context_history":
                return {"context": []}, []
            case "release_action":
                return self._release(ReleaseBody.read(control.t, control.d))
            case "tool-result":
                return self._take_result(ToolResultBody.read(control.t, control.d))
        raise MalformedRequest(f"no request is called {control.t!r}")

    def perform(self, call_id: str, name: str, arguments: Mapping[str, object]) -> list[RtviMessage]:
        """Run a tool of this side; return what is pushed. A write's result follows with its release."""
        fields = {"tool_call_id": call_id, "function_name": name}
        pushed = [RtviMessage("llm-function-call-in-progress", data={**fields, "arguments": arguments})]
        if self._is_forwarding and name in self.host.tools:
            self._forwarded[call_id] = fields
            call = {"type": TOOL_CALL, "id": call_id, "name": name, "arguments": arguments}
            return [*pushed, _server(call)]
        done = self.host.perform(name, arguments)
        if done.crash:
            pushed.append(_server(crash_report(done.crash)))
        closing = [_stopped(fields, done.value)]
        if done.exit_text:
            closing.append(_exit(done.exit_text))
        if done.action is None:
            return [*pushed, *closing]
        self._closing[self.host.hold(done.action)] = (done.action, closing)
        return [*pushed, _server(self.host.applied(done.action))]

    def hang_up(self, call_id: str) -> list[RtviMessage]:
        """End the call: by this side's own tool for it where it has one."""
        tool = next((tool for tool in self.host.tools.values() if tool.exit_text and not tool.properties), None)
        return self.perform(call_id, tool.name, {}) if tool is not None else [_exit(self._goodbye)]

    def _begin(self, body: StartBody) -> bool:
        tools = find_tools(body.tool_domain, body.tools)
        self.host.begin(body.tool_domain, body.prompt, tools, body.epoch, body.profile)
        self._closing.clear()
        self._is_forwarding = body.is_forwarding
        self._forwarded.clear()
        return True

    def _take_result(self, body: ToolResultBody) -> tuple[bool, list[RtviMessage]]:
        fields = self._forwarded.pop(body.id, None)
        return fields is not None, [_stopped(fields, body.result)] if fields is not None else []

    def _release(self, body: ReleaseBody) -> tuple[bool, list[RtviMessage]]:
        key = self.host.release(body)
        if key is None:
            return False, []
        action, closing = self._closing.pop(key)
        return True, [*closing, *([_server(sync_problem(action, body.problems))] if body.problems else [])]


def _stopped(fields: Mapping[str, object], result: object) -> RtviMessage:
    return RtviMessage("llm-function-call-stopped", data={**fields, "cancelled": False, "result": result})


def _server(data: Mapping[str, object]) -> RtviMessage:
    return RtviMessage("server-message", data=data)


def _exit(text: str) -> RtviMessage:
    return RtviMessage("server-message", data={"text": f"<exit>{text}</exit>"})
