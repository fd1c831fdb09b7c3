"""Running the brain's tool calls: one at a time, each write recorded once, announced, and held at the barrier."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from pipecat.frames.frames import FunctionCallResultProperties
from pipecat.services.llm_service import FunctionCallParams

from duologue.bots.brains.service import LastingCalls
from duologue.bots.context import ScenarioState
from duologue.records.action import RecordedAction
from duologue.toolkit.results import ToolOutcome, error_value, normalized
from duologue.toolkit.tool import Tool

logger = logging.getLogger(__name__)

BARRIER_S = 10.0
"""How much session time a write waits for its release."""

MALFORMED_ARGUMENTS = "malformed_arguments"
"""The only key of a call's arguments when what the model wrote is not a JSON object; its value is that text."""

Push = Callable[[dict[str, Any]], Awaitable[None]]


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
        self._held: dict[tuple[str | None, int], asyncio.Future[list[str]]] = {}

    def meet(self, message: Mapping[str, Any]) -> None:
        """Take from a client's ``client-ready`` whether it releases writes."""
        data = message.get("data")
        about = data.get("about") if isinstance(data, Mapping) else None
        capabilities = about.get("capabilities") if isinstance(about, Mapping) else None
        self.uses_barrier = bool(isinstance(capabilities, Mapping) and capabilities.get("barrier"))

    async def handle(self, params: FunctionCallParams) -> None:
        """Run one call of the brain and give back its result, exactly once."""
        async with self._turn:
            tool = self._state.tools.get(params.function_name)
            if tool is None:
                await self._deliver(params, self._unknown(params.function_name))
                return
            arguments = dict(params.arguments or {})
            if arguments.keys() == {MALFORMED_ARGUMENTS}:
                await self._deliver(params, _malformed(tool.name, arguments[MALFORMED_ARGUMENTS]))
                return
            try:
                outcome = tool.invoke(self._state.side_state, arguments)
            except Exception as error:
                logger.exception("tool %s crashed", tool.name)
                message = f"tool {tool.name} crashed: {type(error).__name__}: {error}"
                await self._push({"type": "bot-error", "message": message})
                await self._deliver(params, error_value("tool_crashed", message))
                return
            await self._conclude(tool, arguments, outcome, params)

    async def _conclude(
        self, tool: Tool, arguments: dict[str, Any], outcome: ToolOutcome, params: FunctionCallParams
    ) -> None:
        """Record and announce what changed, then give back the result."""
        state = self._state
        if outcome.is_recorded:
            action = state.ledger.record(tool, arguments, outcome)
            await self._announce(action)
        ends_call = bool(tool.exit_text) and outcome.ok
        state.has_exited = state.has_exited or ends_call
        await self._deliver(params, normalized(outcome.value))
        if ends_call:
            await self._push({"text": f"<exit>{tool.exit_text}</exit>"})

    async def _deliver(self, params: FunctionCallParams, result: Any) -> None:
        """Give back a result; after the call was ended the brain is not asked for more words."""
        properties = FunctionCallResultProperties(run_llm=False) if self._state.has_exited else None
        if isinstance(params.llm, LastingCalls):
            params.llm.call_answered(params.tool_call_id)
        await params.result_callback(result, properties=properties)

    def _unknown(self, name: str) -> dict[str, Any]:
        names = sorted(self._state.tools)
        return error_value("unknown_tool", f"there is no tool {name!r}", available_tools=names)

    async def _announce(self, action: RecordedAction) -> None:
        """Push a recorded action and wait at the barrier."""
        key = (action.epoch, action.seq or 0)
        released: asyncio.Future[list[str]] = asyncio.get_running_loop().create_future()
        if self.uses_barrier:
            self._held[key] = released
        await self._push(
            {
                "type": "action-applied",
                "action": action.model_dump(mode="json", exclude_none=True),
                "tool_domain": self._state.domain,
                "digest": self._state.side_state.digest(),
            }
        )
        if not self.uses_barrier:
            return
        try:
            errors = await asyncio.wait_for(released, self._barrier_s)
        except TimeoutError:
            errors = [f"not released within {self._barrier_s:g} s"]
        finally:
            self._held.pop(key, None)
        if errors:
            message = (
                f"{action.name} (seq {action.seq}): the other side was not brought up to date: {'; '.join(errors)}"
            )
            logger.warning("%s", message)
            await self._push({"type": "bot-error", "message": message})

    def release(self, epoch: str | None, seq: int, success: bool, errors: list[str]) -> bool:
        """Let a held result go; return False when no such write is waiting."""
        released = self._held.get((epoch, seq))
        if released is None or released.done():
            return False
        released.set_result([] if success else (errors or ["the bridge reported a failure"]))
        return True


def _malformed(name: str, text: Any) -> dict[str, Any]:
    message = f"the arguments of {name} must be a JSON object; nothing was done. You wrote: {str(text)[:200]}"
    return error_value("invalid_arguments", message)
