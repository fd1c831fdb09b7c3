"""Running the brain's tool calls: one at a time, each write recorded once, announced, and held at the barrier."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping

from pipecat.frames.frames import FunctionCallResultProperties
from pipecat.services.llm_service import FunctionCallParams

from duologue.bots.brains.service import LastingCalls
from duologue.bots.context import ScenarioState
from duologue.protocol.bodies import TOOL_CALL, ReleaseBody, ToolResultBody
from duologue.records.action import RecordedAction
from duologue.toolkit.results import error_value
from duologue.toolkit.side_host import Key, Performed, crash_report, sync_problem

logger = logging.getLogger(__name__)

BARRIER_S = 10.0
"""How much session time a write waits for its release."""

MALFORMED_ARGUMENTS = "malformed_arguments"
"""The only key of a call's arguments when what the model wrote is not a JSON object; its value is that text."""

Push = Callable[[dict[str, object]], Awaitable[None]]


class ToolCalls:
    """The one handler behind every tool of a session.

    A write changes the state and the action log without an await in between, is announced as
    ``action-applied``, and its result is held until the bridge has carried the change to the other side.

    Args:
        state: the session's scenario state; looked at on every call, so tools of an earlier scenario cannot run.
        push: sends a server-message to the client.
        barrier_s: longest wait for a release, in session seconds.
    """

    def __init__(self, state: ScenarioState, push: Push, barrier_s: float = BARRIER_S) -> None:
        self.uses_barrier = False
        self._state = state
        self._push = push
        self._barrier_s = barrier_s
        self._turn = asyncio.Lock()
        self._held: dict[Key, asyncio.Future[list[str]]] = {}
        self._forwarded: dict[str, asyncio.Future[ToolResultBody]] = {}

    def meet(self, message: Mapping[str, object]) -> None:
        """Take from a client's ``client-ready`` whether it releases writes."""
        data = message.get("data")
        about = data.get("about") if isinstance(data, Mapping) else None
        capabilities = about.get("capabilities") if isinstance(about, Mapping) else None
        self.uses_barrier = bool(isinstance(capabilities, Mapping) and capabilities.get("barrier"))

    async def handle(self, params: FunctionCallParams) -> None:
        """Run one call of the brain and give back its result, exactly once."""
        async with self._turn:
            host, name = self._state.host, params.function_name
            arguments = dict(params.arguments or {})
            if arguments.keys() == {MALFORMED_ARGUMENTS} and name in host.tools:
                await self._deliver(params, _malformed(name, arguments[MALFORMED_ARGUMENTS]))
                return
            if self._state.is_forwarding and name in host.tools:
                done = await self._forward(params.tool_call_id, name, arguments)
                self._state.has_exited = self._state.has_exited or done.ends_call
                await self._deliver(params, done.result)
                return
            await self._conclude(host.perform(name, arguments), params)

    async def _forward(self, call_id: str, name: str, arguments: dict[str, object]) -> ToolResultBody:
        """Have the harness run a call and wait for its result, which leaves the exit to the harness as well."""
        answered: asyncio.Future[ToolResultBody] = asyncio.get_running_loop().create_future()
        self._forwarded[call_id] = answered
        await self._push({"type": TOOL_CALL, "id": call_id, "name": name, "arguments": arguments})
        try:
            return await asyncio.wait_for(answered, self._barrier_s)
        except TimeoutError:
            problem = f"{name}: the harness gave no result within {self._barrier_s:g} s"
            await self._push({"type": "bot-error", "message": problem})
            return ToolResultBody(id=call_id, name=name, result=error_value("no_result", problem))
        finally:
            self._forwarded.pop(call_id, None)

    def take_result(self, body: ToolResultBody) -> bool:
        """Give the result of a forwarded call to its model; return False when nobody waits for it."""
        answered = self._forwarded.get(body.id)
        if answered is None or answered.done():
            return False
        answered.set_result(body)
        return True

    async def _conclude(self, done: Performed, params: FunctionCallParams) -> None:
        """Announce what changed, then give back the result."""
        state = self._state
        if done.crash:
            await self._push(crash_report(done.crash))
        if done.action is not None:
            await self._announce(done.action)
        state.has_exited = state.has_exited or bool(done.exit_text)
        await self._deliver(params, done.value)
        if done.exit_text:
            await self._push({"text": f"<exit>{done.exit_text}</exit>"})

    async def _deliver(self, params: FunctionCallParams, result: object) -> None:
        """Give back a result; after the call was ended the brain is not asked for more words."""
        properties = FunctionCallResultProperties(run_llm=False) if self._state.has_exited else None
        if isinstance(params.llm, LastingCalls):
            params.llm.call_answered(params.tool_call_id)
        await params.result_callback(result, properties=properties)

    async def _announce(self, action: RecordedAction) -> None:
        """Push a recorded action and wait at the barrier."""
        host = self._state.host
        released: asyncio.Future[list[str]] = asyncio.get_running_loop().create_future()
        if not self.uses_barrier:
            await self._push(host.applied(action))
            return
        key = host.hold(action)
        self._held[key] = released
        await self._push(host.applied(action))
        try:
            problems = await asyncio.wait_for(released, self._barrier_s)
        except TimeoutError:
            problems = [f"not released within {self._barrier_s:g} s"]
        finally:
            self._held.pop(key, None)
            host.let_go(key)
        if problems:
            problem = sync_problem(action, problems)
            logger.warning("%s", problem["message"])
            await self._push(problem)

    def release(self, body: ReleaseBody) -> bool:
        """Let a held result go; return False when no such write is waiting."""
        key = self._state.host.release(body)
        if key is None:
            return False
        self._held[key].set_result(body.problems)
        return True


def _malformed(name: str, text: object) -> dict[str, object]:
    message = f"the arguments of {name} must be a JSON object; nothing was done. You wrote: {str(text)[:200]}"
    return error_value("invalid_arguments", message)
