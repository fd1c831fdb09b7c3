"""An OpenAI-compatible model as a brain.

In lock-step, session time stands still while a request runs: the reply is fetched whole, charged, and replayed.
On the real-time path it is spoken as it streams in.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from openai import AsyncOpenAI
from openai.types.chat import ChatCompletionChunk
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.frameworks.rtvi.frames import RTVIServerMessageFrame
from pipecat.services.llm_service import FunctionCallFromLLM
from pipecat.services.openai.llm import OpenAILLMService

from duologue.bots.brains.model_reply import ReplyReader, text_chunk
from duologue.bots.brains.reasoning import AnswerFilter, starts_inside_reasoning
from duologue.bots.brains.retry import ModelError, ReplyCut, RetryPolicy, describe_failure
from duologue.bots.brains.service import LastingCalls
from duologue.bots.charging import charged_s
from duologue.bots.context import ScenarioState
from duologue.bots.media_clock import CLOCK, real_monotonic
from duologue.config import LlmConfig

T = TypeVar("T")

EPOCH_HEADER = "X-Duologue-Epoch"
"""Sent with every request: the opaque id of the attempt, so that a gateway's log can be matched with a trace."""

TOO_MANY_ROUNDS = "I am sorry, I cannot get this done right now. What else can I do for you?"
"""Spoken when a model answers one turn with tool calls only, ``llm.max_tool_rounds`` times in a row."""

_NO_KEY = "EMPTY"
"""Local servers want a key but do not look at it."""


@dataclass(frozen=True, slots=True)
class _Fetched:
    """A chunk of a fetched reply and how long after the request it came, in real seconds."""

    after_s: float
    chunk: ChatCompletionChunk


class HeldOpenAI(LastingCalls, OpenAILLMService):
    """Pipecat's OpenAI service with session time, safe repetition, bounds, and replies made fit for speech.

    Args:
        config: the ``llm`` section.
        state: the session's scenario state: its epoch names the attempt and seeds the charge.
        function_call_timeout_s: bound of one tool call in session seconds.
    """

    supports_developer_role = False

    def __init__(self, config: LlmConfig, state: ScenarioState, *, function_call_timeout_s: float) -> None:
        self._config = config
        self._state = state
        self._key = config.api_key.get_secret_value() if config.api_key else ""
        self._policy = RetryPolicy(config.retries, config.request_timeout_s)
        self._requests = 0
        self._rounds = 0
        self._turn: object = None
        self._used_ids: set[str] = set()
        sampling = ("temperature", "top_p", "max_tokens", "seed")
        super().__init__(
            api_key=self._key or _NO_KEY,
            base_url=config.base_url,
            function_call_timeout_secs=function_call_timeout_s,
            settings=OpenAILLMService.Settings(
                model=config.model,
                extra={"extra_body": config.extra_body} if config.extra_body else {},
                **{name: value for name in sampling if (value := getattr(config, name)) is not None},
            ),
        )

    def create_client(self, api_key: str, base_url: str, **_: object) -> AsyncOpenAI:
        """Return a client that does not repeat requests by itself."""
        return AsyncOpenAI(api_key=api_key, base_url=base_url, timeout=self._config.request_timeout_s, max_retries=0)

    async def get_chat_completions(self, context: LLMContext) -> AsyncIterator[ChatCompletionChunk]:
        """Return the reply to ``context`` as speakable text, whole tool calls and one usage report.

        Raises:
            ModelError: no usable reply, whatever was tried; the client has been told that this bot cannot go on.
        """
        if self._rounds_spent(context):
            rounds = self._config.max_tool_rounds
            await self._note(f"the model answered one turn with {rounds} rounds of tool calls (llm.max_tool_rounds)")
            return _replay([_Fetched(0.0, text_chunk(TOO_MANY_ROUNDS))], is_paced=False)
        params = await self._parameters(context)
        self._requests += 1
        if (clock := CLOCK.get()) is None:
            return self._streamed(params)
        try:
            fetched = await clock.real(lambda: self._fetch(params))
        except Exception as error:
            raise await self._failed(error) from error
        chunks = await self._readable(fetched)
        charge_s = charged_s(self._config.charge, seed=self._state.host.ledger.epoch or "", number=self._requests)
        if charge_s:
            await asyncio.sleep(charge_s)
        return _replay(chunks, is_paced=charge_s is None)

    async def run_function_calls(self, function_calls: Sequence[FunctionCallFromLLM]) -> None:
        """Run the calls of one reply, and count the reply as a round of its turn."""
        self._rounds += bool(function_calls)
        await super().run_function_calls(function_calls)

    async def cancel_open_calls(self) -> None:
        """Cancel every running call; what was counted for the last scenario is forgotten."""
        await super().cancel_open_calls()
        self._requests = self._rounds = 0
        self._turn = None
        self._used_ids.clear()

    async def check_model(self) -> str:
        """Send one cheap request and return what is wrong with the model, or an empty text."""
        extra = {"extra_body": self._config.extra_body} if self._config.extra_body else {}
        question = {"role": "user", "content": "Say yes."}

        async def ask() -> None:
            await self._client.chat.completions.create(
                model=self._config.model, messages=[question], max_tokens=1, stream=False, **extra
            )

        try:
            await _held(lambda: self._repeated(ask))
        except Exception as error:  # noqa: BLE001 - whatever it is, the model is not usable
            return str(self._worded(error))
        return ""

    async def cleanup(self) -> None:
        """Close the service and its HTTP client."""
        await super().cleanup()
        await _held(self._client.close)

    async def _parameters(self, context: LLMContext) -> dict[str, object]:
        given = await self.get_llm_adapter().get_llm_invocation_params(
            context, system_instruction=self._settings.system_instruction, convert_developer_to_user=True
        )
        params: dict[str, object] = self.build_chat_completion_params(given)
        if not params.get("tools"):
            params.pop("tools", None)
            params.pop("tool_choice", None)
        if self._state.host.ledger.epoch:
            params["extra_headers"] = {EPOCH_HEADER: self._state.host.ledger.epoch}
        return params

    def _rounds_spent(self, context: LLMContext) -> bool:
        """Whether the turn has used up its rounds of tool calls; a new message of the other side begins a turn."""
        turn = sum(message.get("role") == "user" for message in context.get_messages() if isinstance(message, dict))
        if turn != self._turn:
            self._turn, self._rounds = turn, 0
        return self._rounds >= self._config.max_tool_rounds

    async def _fetch(self, params: dict[str, object]) -> list[_Fetched]:
        """Return all chunks of one reply. Runs in real time; nothing is used before it is whole."""
        started = real_monotonic()

        async def once() -> list[_Fetched]:
            stream = await self._client.chat.completions.create(**params)
            chunks = [_Fetched(real_monotonic() - started, chunk) async for chunk in stream]
            _check_whole([item.chunk for item in chunks])
            return chunks

        return await self._repeated(once)

    async def _repeated(self, request: Callable[[], Awaitable[T]]) -> T:
        """Await ``request``, again where the policy allows, within the bound of one reply."""
        sent = 0
        try:
            async with asyncio.timeout(self._policy.timeout_s):
                while True:
                    sent += 1
                    try:
                        return await request()
                    except Exception as error:
                        wait_s = self._policy.wait_s(error, sent)
                        if wait_s is None:
                            raise
                    await asyncio.sleep(wait_s)
        except Exception as error:
            raise self._worded(error, sent) from error

    async def _readable(self, fetched: Sequence[_Fetched]) -> list[_Fetched]:
        text = "".join(choice.delta.content or "" for item in fetched for choice in item.chunk.choices if choice.delta)
        inside = "think" if starts_inside_reasoning(text) else ""
        reader = ReplyReader(self._used_ids, AnswerFilter(inside))
        out = [_Fetched(item.after_s, chunk) for item in fetched for chunk in reader.feed(item.chunk)]
        last_s = fetched[-1].after_s if fetched else 0.0
        out += [_Fetched(last_s, chunk) for chunk in reader.finish()]
        await self._note_silence(reader)
        return out

    async def _streamed(self, params: dict[str, object]) -> AsyncIterator[ChatCompletionChunk]:
        """Yield a reply as it comes. Once anything of it was passed on, the request is not repeated."""
        deadline = asyncio.get_running_loop().time() + self._policy.timeout_s
        sent = 0
        while True:
            sent, is_used = sent + 1, False
            reader, chunks = ReplyReader(self._used_ids), self._open(params)
            try:
                while (chunk := await _next_before(deadline, chunks)) is not None:
                    for piece in reader.feed(chunk):
                        is_used = True
                        yield piece
                if not reader.is_complete:
                    raise ReplyCut("the stream ended before the reply was whole")
                break
            except Exception as error:
                wait_s = None if is_used else self._policy.wait_s(error, sent)
                if wait_s is None:
                    raise await self._failed(self._worded(error, sent)) from error
            finally:
                await chunks.aclose()  # type: ignore[attr-defined]
            await asyncio.sleep(wait_s)
        for piece in reader.finish():
            yield piece
        await self._note_silence(reader)

    async def _open(self, params: dict[str, object]) -> AsyncIterator[ChatCompletionChunk]:
        stream = await self._client.chat.completions.create(**params)
        try:
            async for chunk in stream:
                yield chunk
        finally:
            await stream.close()

    def _worded(self, error: Exception, sent: int = 1) -> ModelError:
        if isinstance(error, ModelError):
            return error
        return ModelError(
            describe_failure(
                error,
                url=self._config.base_url or "",
                model=self._config.model,
                policy=self._policy,
                requests=sent,
                secret=self._key,
            )
        )

    async def _failed(self, error: Exception) -> ModelError:
        """Tell the client that this bot cannot go on, and return the error to raise."""
        worded = self._worded(error)
        await self._push({"type": "bot-error", "message": str(worded), "fatal": True, "part": "llm"})
        return worded

    async def _note_silence(self, reader: ReplyReader) -> None:
        if reader.said_chars or reader.n_calls:
            return
        why = f"{reader.reasoning_chars} characters of reasoning" if reader.reasoning_chars else "nothing"
        await self._note(f"the model's reply held {why} and no answer (finish_reason {reader.finish_reason})")

    async def _note(self, message: str) -> None:
        await self._push({"type": "bot-error", "message": message, "part": "llm"})

    async def _push(self, data: dict[str, object]) -> None:
        await self.push_frame(RTVIServerMessageFrame(data=data))


async def _replay(fetched: Sequence[_Fetched], *, is_paced: bool) -> AsyncIterator[ChatCompletionChunk]:
    """Yield chunks that have arrived; ``is_paced`` lets session time pass between them as real time did."""
    passed_s = 0.0
    for item in fetched:
        if is_paced and item.after_s > passed_s:
            await asyncio.sleep(item.after_s - passed_s)
            passed_s = item.after_s
        yield item.chunk


def _check_whole(chunks: Sequence[ChatCompletionChunk]) -> None:
    reader = ReplyReader(set())
    for chunk in chunks:
        reader.feed(chunk)
    if not reader.is_complete:
        raise ReplyCut("the stream ended before the reply was whole")


async def _next_before(deadline: float, chunks: AsyncIterator[ChatCompletionChunk]) -> ChatCompletionChunk | None:
    async with asyncio.timeout_at(deadline):
        return await anext(chunks, None)


async def _held(call: Callable[[], Awaitable[T]]) -> T:
    clock = CLOCK.get()
    return await call() if clock is None else await clock.real(call)


def build_openai(config: LlmConfig, state: ScenarioState, *, function_call_timeout_s: float) -> HeldOpenAI:
    """Return the service for ``llm.type: openai``."""
    return HeldOpenAI(config, state, function_call_timeout_s=function_call_timeout_s)
