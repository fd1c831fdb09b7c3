"""A scripted brain in the place of the LLM service."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from pipecat.frames.frames import (
    Frame,
    InterruptionFrame,
    LLMContextFrame,
    LLMFullResponseEndFrame,
    LLMFullResponseStartFrame,
)
from pipecat.metrics.metrics import LLMTokenUsage
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.frame_processor import FrameDirection
from pipecat.services.llm_service import FunctionCallFromLLM, LLMService
from pipecat.services.settings import LLMSettings

from duologue.brains.reply import BrainReply

Decide = Callable[[list[dict[str, object]]], BrainReply]


class LastingCalls(LLMService):
    """An LLM service whose tool calls outlast a barge-in, and which is not asked again before they have answered.

    Our tools act at once and can only be waiting at the write barrier. Cancelling one there would hide from the
    model a write that has happened; asking the model meanwhile would make it call again. What was said in the
    meantime is in the context that the result brings.
    """

    def __init__(self, *args: Any, **options: object) -> None:
        super().__init__(*args, **options)
        self._open_calls: set[str] = set()
        self._tool_turns = 0
        self.max_tool_turns: Callable[[], int | None] = lambda: None
        self.add_event_handler("on_function_calls_cancelled", self._forget_calls)

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        """Drop a context that comes while calls are open or after the last turn with calls; handle everything else."""
        if isinstance(frame, LLMContextFrame) and (self._has_had_its_turns(frame.context) or self._open_calls):
            return
        await super().process_frame(frame, direction)

    async def run_function_calls(self, function_calls: Sequence[FunctionCallFromLLM]) -> None:
        """Run the calls of one reply."""
        self._tool_turns += bool(function_calls)
        self._open_calls.update(call.tool_call_id for call in function_calls)
        await super().run_function_calls(function_calls)

    def call_answered(self, tool_call_id: str) -> None:
        """Note that a call's result is about to be delivered."""
        self._open_calls.discard(tool_call_id)

    async def cancel_open_calls(self) -> None:
        """Cancel every running call."""
        await self.cancel_function_calls(reason="a new scenario")
        self._open_calls.clear()
        self._tool_turns = 0

    def _has_had_its_turns(self, context: LLMContext) -> bool:
        """Whether the model has made calls in as many replies to the other side's last words as the scenario allows."""
        messages = context.get_messages()
        if messages and isinstance(messages[-1], dict) and messages[-1].get("role") == "user":
            self._tool_turns = 0
        limit = self.max_tool_turns()
        return limit is not None and self._tool_turns >= limit

    async def check_model(self) -> str:
        """Return what is wrong with the model behind this service, or an empty text; without a model, nothing is."""
        return ""

    async def _forget_calls(self, _: LLMService, calls: Sequence[FunctionCallFromLLM]) -> None:
        self._open_calls.difference_update(call.tool_call_id for call in calls)

    async def _handle_interruptions(self, _: InterruptionFrame) -> None:
        """Leave running calls alone."""


class _Scripted(LLMService):
    """Answers each context with what ``decide`` says, through Pipecat's own text and tool-call path.

    Args:
        decide: chat messages to reply; its view is that of an OpenAI-compatible server.
        latency_s: thinking time in session seconds.
        function_call_timeout_s: bound of one tool call in session seconds.
    """

    def __init__(self, decide: Decide, *, latency_s: float, function_call_timeout_s: float) -> None:
        super().__init__(
            function_call_timeout_secs=function_call_timeout_s,
            settings=LLMSettings(
                model="scripted",
                system_instruction=None,
                temperature=None,
                max_tokens=None,
                top_p=None,
                top_k=None,
                frequency_penalty=None,
                presence_penalty=None,
                seed=None,
                filter_incomplete_user_turns=False,
                user_turn_completion_config=None,
            ),
        )
        self._decide = decide
        self._latency_s = latency_s
        self._calls = 0

    def can_generate_metrics(self) -> bool:
        """Each decision counts as a call of the model, without tokens; clients count calls."""
        return True

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        """Answer a context frame; pass everything else on."""
        await super().process_frame(frame, direction)
        if not isinstance(frame, LLMContextFrame):
            await self.push_frame(frame, direction)
            return
        try:
            await self.push_frame(LLMFullResponseStartFrame())
            await self._answer(frame)
        except Exception as error:  # noqa: BLE001 - reported to the client as a failure of this bot
            await self.push_error(f"brain failed: {type(error).__name__}: {error}", exception=error)
        finally:
            await self.push_frame(LLMFullResponseEndFrame())

    async def _answer(self, frame: LLMContextFrame) -> None:
        seen = await self.get_llm_adapter().get_llm_invocation_params(
            frame.context, system_instruction=self._settings.system_instruction, convert_developer_to_user=False
        )
        reply = self._decide(list(seen["messages"]))
        await self.start_llm_usage_metrics(LLMTokenUsage(prompt_tokens=0, completion_tokens=0, total_tokens=0))
        if self._latency_s:
            await asyncio.sleep(self._latency_s)
        for word in reply.text.split():
            await self._push_llm_text(word + " ")
        await self.run_function_calls([self._numbered(call.name, call.arguments, frame) for call in reply.calls])

    def _numbered(self, name: str, arguments: dict[str, object], frame: LLMContextFrame) -> FunctionCallFromLLM:
        self._calls += 1
        return FunctionCallFromLLM(
            function_name=name, tool_call_id=f"call_{self._calls}", arguments=arguments, context=frame.context
        )


class ScriptedBrain(LastingCalls, _Scripted):
    """A scripted brain whose tool calls outlast a barge-in."""
