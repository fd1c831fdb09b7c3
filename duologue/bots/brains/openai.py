"""An OpenAI-compatible model as a brain: session time stands still while a request runs, then is charged."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeVar

from openai import AsyncOpenAI
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.services.openai.llm import OpenAILLMService

from duologue.bots.brains.service import LastingCalls
from duologue.bots.charging import charged_s
from duologue.bots.media_clock import CLOCK
from duologue.config import LlmConfig

T = TypeVar("T")

_NO_KEY = "EMPTY"
"""Local servers want a key but do not look at it."""


class _Replay:
    """Chunks that have already arrived, in the shape of a stream."""

    def __init__(self, chunks: list[Any]) -> None:
        self._chunks = chunks

    async def __aiter__(self) -> AsyncIterator[Any]:
        for chunk in self._chunks:
            yield chunk

    async def close(self) -> None:
        """Nothing is open."""


class HeldOpenAI(LastingCalls, OpenAILLMService):
    """Pipecat's OpenAI service on session time: a reply is fetched whole while time is frozen, then replayed.

    Args:
        config: the ``llm`` section.
        function_call_timeout_s: bound of one tool call in session seconds.
    """

    def __init__(self, config: LlmConfig, *, function_call_timeout_s: float) -> None:
        self._config = config
        given = {"temperature": config.temperature, "max_tokens": config.max_tokens, "seed": config.seed}
        super().__init__(
            api_key=config.api_key.get_secret_value() if config.api_key else _NO_KEY,
            base_url=config.base_url,
            function_call_timeout_secs=function_call_timeout_s,
            settings=OpenAILLMService.Settings(
                model=config.model,
                extra={"extra_body": config.extra_body} if config.extra_body else {},
                **{name: value for name, value in given.items() if value is not None},
            ),
        )

    def create_client(self, api_key: str, base_url: str, **_: Any) -> AsyncOpenAI:
        """Return a client that neither retries nor waits longer than ``llm.request_timeout_s`` of real time."""
        return AsyncOpenAI(api_key=api_key, base_url=base_url, timeout=self._config.request_timeout_s, max_retries=0)

    async def get_chat_completions(self, context: LLMContext) -> _Replay:
        """Return the whole reply to ``context`` as a stream."""
        start = super().get_chat_completions

        async def fetch() -> list[Any]:
            return [chunk async for chunk in await start(context)]

        return _Replay(await _held(fetch, charged_s(self._config.charge)))

    async def cleanup(self) -> None:
        """Close the service and its HTTP client."""
        await super().cleanup()
        await _held(self._client.close, 0.0)


async def _held(call: Callable[[], Awaitable[T]], charge_s: float | None) -> T:
    clock = CLOCK.get()
    return await call() if clock is None else await clock.real(call, charge_s=charge_s)


def build_openai(config: LlmConfig, *, function_call_timeout_s: float) -> HeldOpenAI:
    """Return the service for ``llm.type: openai``."""
    return HeldOpenAI(config, function_call_timeout_s=function_call_timeout_s)
