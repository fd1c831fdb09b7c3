"""Speech-to-speech services: one model that hears, decides and speaks, in real time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any

from pipecat.adapters.llm.schemas.tools_schema import ToolsSchema
from pipecat.frames.frames import Frame, LLMMessagesAppendFrame
from pipecat.processors.aggregators.llm_context import LLMContext, standard_message_text
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
from pipecat.processors.frameworks.rtvi.frames import RTVIServerMessageFrame
from pipecat.services.openai.realtime.events import SessionProperties
from pipecat.services.openai.realtime.llm import OpenAIRealtimeLLMService
from pydantic import ValidationError

from duologue.bots.brains.service import LastingCalls
from duologue.config import BotConfig
from duologue.errors import BotStateError, ConfigError

logger = logging.getLogger(__name__)

OPENAI_URL = "wss://api.openai.com/v1/realtime"

_READY_S = 8.0  # a service that opens a session does so in one or two seconds
_READY_STEP_S = 0.05  # the service calls nobody when it is ready; asking again is cheap


class OpenAIRealtime(LastingCalls, OpenAIRealtimeLLMService):
    """Pipecat's OpenAI Realtime service, with a new server conversation for each scenario.

    It knows prompt and tools before anybody speaks, so that either side can speak first.

    Args:
        config: the bot's settings; ``llm.settings`` are the session properties of the API.
        function_call_timeout_s: bound of one tool call in seconds.

    Raises:
        ConfigError: ``llm.settings`` are no session properties.
    """

    def __init__(self, config: BotConfig, *, function_call_timeout_s: float) -> None:
        llm = config.llm
        self._secret = llm.api_key.get_secret_value() if llm.api_key else ""
        super().__init__(
            api_key=self._secret,
            base_url=llm.base_url or OPENAI_URL,
            function_call_timeout_secs=function_call_timeout_s,
            settings=OpenAIRealtimeLLMService.Settings(model=llm.model, session_properties=_properties(config)),
        )
        self._trouble = ""
        self._is_prepared = False

    async def begin(self, context: LLMContext) -> None:
        """Leave the server's conversation and open a new one with the current prompt and the tools of ``context``.

        Raises:
            BotStateError: the server does not take a session.
        """
        self._is_prepared = False
        await self._disconnect()
        self._pending_function_calls.clear()
        self._current_assistant_response = self._current_audio_response = None
        self._run_llm_when_api_session_ready = self._results_awaiting_response = False
        self._user_audio_preroll_buffer.clear()
        # The conversation is not filled from the context, which only follows it.
        self._llm_needs_conversation_setup = False
        self._context, self._trouble = context, ""
        await self._connect()
        if trouble := await self.check_model():
            raise BotStateError(trouble)
        self._is_prepared = True

    async def check_model(self) -> str:
        """Return why the service does not take a session, or an empty text."""
        if self._websocket is None and not self._trouble:
            await self._connect()
        for _ in range(round(_READY_S / _READY_STEP_S)):
            if self._api_session_ready or self._trouble:
                break
            await asyncio.sleep(_READY_STEP_S)
        if self._api_session_ready:
            return ""
        return self._trouble or f"{self.base_url} opened no session within {_READY_S:g} s"

    async def push_error(self, error_msg: str, *args: object, **options: object) -> None:
        """Report an error of the service, which ends what this bot can do in the call; before one it is only kept."""
        error_msg = error_msg.replace(self._secret, "***") if self._secret else error_msg
        self._trouble = f"llm.type openai_realtime at {self.base_url}: {error_msg}"
        if not self._is_prepared:
            logger.error("%s", self._trouble)
            return
        message = {"type": "bot-error", "message": self._trouble, "fatal": True, "part": "llm"}
        await self.push_frame(RTVIServerMessageFrame(data=message))
        await super().push_error(error_msg, *args, **options)

    async def take_written(self, messages: Sequence[Any], *, run: bool) -> None:
        """Put what a client wrote into the server's conversation, and answer it when ``run`` says so."""
        for message in messages:
            if text := standard_message_text(message):
                await self._send_message_item(text, role="assistant" if message.get("role") == "assistant" else "user")
        if run:
            self._results_awaiting_response = True
            await self._create_response()


class WrittenWords(FrameProcessor):
    """Hands what a client writes to the service, which otherwise only takes what it hears.

    Args:
        service: the session's service.
    """

    def __init__(self, service: OpenAIRealtime) -> None:
        super().__init__()
        self._service = service

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        """Pass everything on; the context keeps written words too."""
        await super().process_frame(frame, direction)
        if isinstance(frame, LLMMessagesAppendFrame):
            await self._service.take_written(frame.messages, run=bool(frame.run_llm))
            frame.run_llm = False
        await self.push_frame(frame, direction)


def _properties(config: BotConfig) -> SessionProperties:
    """Return the session properties of ``llm.settings``, with transcripts and the configured turn taking."""
    given = dict(config.llm.settings)
    audio = dict(given.get("audio") or {})
    heard = {"transcription": {}, **(audio.get("input") or {})}
    if config.turn_taking.type != "service":
        heard["turn_detection"] = False
    try:
        return SessionProperties.model_validate({**given, "audio": {**audio, "input": heard}})
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors())
        raise ConfigError(
            f"{config.source or 'settings'}: llm.settings are the session properties of the OpenAI Realtime API: "
            f"{problems}"
        ) from error


def build_openai_realtime(config: BotConfig, *, function_call_timeout_s: float) -> OpenAIRealtime:
    """Return the service for ``llm.type: openai_realtime``."""
    return OpenAIRealtime(config, function_call_timeout_s=function_call_timeout_s)


async def begin_scenario(llm: LastingCalls, context: LLMContext, *, is_first: bool) -> ToolsSchema | None:
    """Give a speech-to-speech service an empty conversation; return tools that it still has to be told of.

    Raises:
        BotStateError: the service cannot forget a conversation, and this is not its first.
    """
    if isinstance(llm, OpenAIRealtime):
        await llm.begin(context)
        return None
    if not is_first:
        await _forget(llm)
    tools: ToolsSchema = context.tools
    return tools


async def _forget(llm: LastingCalls) -> None:
    service: object = llm
    if not (hasattr(service, "reset_conversation") and hasattr(service, "_context")):
        name = type(llm).__name__.removeprefix("Lasting")
        raise BotStateError(f"{name} cannot forget a conversation: start this bot again before each scenario")
    if service._context is not None:
        await service.reset_conversation()
        # The next context is a first one again: the services begin a conversation with it.
        service._context = None


def written_words(llm: LastingCalls) -> list[FrameProcessor]:
    """Return what stands before the context when ``llm`` has to be handed what clients write."""
    return [WrittenWords(llm)] if isinstance(llm, OpenAIRealtime) else []
