"""Settings to one session's pipeline, and what control messages do to it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

import pipecat.utils.time
from pipecat.adapters.llm.schemas.function_schema import FunctionSchema
from pipecat.adapters.llm.schemas.tools_schema import ToolsSchema
from pipecat.frames.frames import LLMSetToolsFrame, LLMUpdateSettingsFrame
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker, ProcessorUnusablePolicy
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import LLMContextAggregatorPair
from pipecat.processors.frame_processor import FrameProcessor
from pipecat.processors.frameworks.rtvi import (
    RTVIFunctionCallReportLevel,
    RTVIObserverParams,
    RTVIProcessor,
)
from pipecat.processors.frameworks.rtvi.frames import RTVIServerMessageFrame
from pipecat.services.settings import LLMSettings
from pipecat.transports.base_transport import BaseTransport
from pipecat.workers.runner import WorkerRunner

from duologue import __version__
from duologue.bots.context import ScenarioState
from duologue.bots.control import Control, UnknownMessage
from duologue.bots.lockstep_transport import FRAME_MS
from duologue.bots.media_clock import DatetimeShim
from duologue.bots.services import Models, Services, build_services
from duologue.bots.stt import WhisperStt, forget_audio
from duologue.bots.tool_calls import ToolCalls
from duologue.bots.turn_taking import turn_params
from duologue.config import BotConfig
from duologue.errors import BotStateError
from duologue.toolkit.tool import Tool

logger = logging.getLogger(__name__)

pipecat.utils.time.datetime = DatetimeShim  # Pipecat's own timestamps follow session time

_FLUSH_S = 5.0  # rest comes in milliseconds; without it by then, a processor holds a frame back


def about_bot(config: BotConfig) -> dict[str, object]:
    """Return what ``bot-ready`` says of this bot."""
    return {
        "library": "duologue",
        "library_version": __version__,
        "capabilities": {
            "transport": config.transport.type,
            "frame_ms": FRAME_MS,
            "audio_in_hz": config.transport.audio_in_sample_rate,
            "audio_out_hz": config.transport.audio_out_sample_rate,
            "tool_calling": config.llm.enable_tool_calling,
            "barrier": True,
            "forwards_tools": True,
            "world_events": True,
            "brain": config.llm.name,
            "stt": config.stt.name if config.pipeline == "cascade" else config.pipeline,
            "plan": config.llm.wants_plan,
            "preflight": True,
            "ends_call": True,
            "max_tick_s": config.longest_tick_s,
        },
    }


class _Rtvi(RTVIProcessor):
    """Pipecat's RTVI processor, introducing this bot."""

    def __init__(self, about: Mapping[str, object]) -> None:
        super().__init__()
        self._about = about

    async def set_bot_ready(self, about: Mapping[str, object] | None = None) -> None:
        """Answer ``client-ready``."""
        await super().set_bot_ready(about or self._about)


class SessionPipeline:
    """One connection's pipeline: transport, VAD, STT, brain, TTS or a service for all, and the control messages.

    Build it and run it inside the session's clock.

    Args:
        config: the bot's settings.
        models: the process's models.
        transport: where its audio and messages come from and go to.
    """

    def __init__(self, config: BotConfig, models: Models, transport: BaseTransport) -> None:
        self.state = ScenarioState()
        self._answering = asyncio.Lock()
        self._context = LLMContext(messages=[])
        self._prompt = ""
        self._scenarios = 0
        self._is_s2s = config.pipeline == "s2s"
        services = build_services(config, models, self.state)
        self._stt, self._llm = services.stt, services.llm
        self._llm.max_tool_turns = lambda: self.state.max_tool_turns
        self._aggregators = LLMContextAggregatorPair(
            self._context,
            user_params=turn_params(config, models.smart_turn),
            realtime_service_mode=self._is_s2s,
        )
        self._worker = PipelineWorker(
            Pipeline(self._chain(services, transport)),
            params=PipelineParams(
                audio_in_sample_rate=config.transport.audio_in_sample_rate,
                audio_out_sample_rate=config.transport.audio_out_sample_rate,
                enable_usage_metrics=True,
            ),
            idle_timeout_secs=None,
            enable_turn_tracking=False,
            processor_unusable_policy=ProcessorUnusablePolicy.CANCEL,
            rtvi_processor=_Rtvi(about_bot(config)),
            rtvi_observer_params=_reported(),
        )
        self._runner = WorkerRunner(handle_sigint=False)
        self.calls = ToolCalls(self.state, self._push)
        self._llm.register_function(None, self.calls.handle)
        self._control = Control(config, self.state, self.calls, self, self.report)
        self._worker.rtvi.add_event_handler("on_client_message", self._answer)

    def _chain(self, services: Services, transport: BaseTransport) -> list[FrameProcessor]:
        own = services.own
        return [
            transport.input(),
            *([services.vad] if services.vad is not None else []),
            *own.get("before_stt", []),
            *([services.stt] if services.stt is not None else []),
            *own.get("after_stt", []),
            *self._before_context(),
            self._aggregators.user(),
            *own.get("before_llm", []),
            services.llm,
            *own.get("before_tts", []),
            *([services.tts] if services.tts is not None else []),
            *own.get("after_tts", []),
            transport.output(),
            self._aggregators.assistant(),
        ]

    def _before_context(self) -> list[FrameProcessor]:
        if not self._is_s2s:
            return []
        # Imported here, because a cascade does without the service's client.
        from duologue.bots.s2s import written_words

        return written_words(self._llm)

    async def run(self) -> None:
        """Run until the worker is cancelled or ends."""
        await self._runner.add_workers(self._worker)
        await self._runner.run()

    async def stop(self) -> None:
        """Cancel the worker."""
        await self._worker.cancel()

    async def restart(self, prompt: str) -> None:
        """Silence the bot, forget what was heard and said, and take ``prompt`` as the system prompt.

        Raises:
            BotStateError: the pipeline did not come to rest.
        """
        await self._llm.cancel_open_calls()
        await self._worker.rtvi.interrupt_bot()
        await self._worker.queue_frame(LLMUpdateSettingsFrame(delta=LLMSettings(system_instruction=prompt)))
        if not await self._worker.flush_pipeline(_FLUSH_S):
            raise BotStateError(f"the pipeline did not come to rest within {_FLUSH_S:g} s")
        for aggregator in (self._aggregators.user(), self._aggregators.assistant()):
            await aggregator.reset()
        forget_audio(self._stt)
        self._context.set_messages([])
        self._prompt = prompt

    def listen_in(self, language: str | None) -> None:
        """Hear ``language`` from now on; None takes the configured one. A service that hears decides itself.

        Raises:
            ConfigError: no model at hand hears it.
        """
        if isinstance(self._stt, WhisperStt):
            self._stt.listen_in(language)
        elif language is not None:
            logger.info("language %s is left to %s", language, self._stt or self._llm)

    async def show_tools(self) -> None:
        """Show the model the session's current tools, replacing all others."""
        tools = ToolsSchema(standard_tools=[_schema(tool) for tool in self.state.host.tools.values()])
        self._context.set_tools(tools)
        if self._is_s2s:
            from duologue.bots.s2s import begin_scenario

            told = await begin_scenario(self._llm, self._context, is_first=self._scenarios == 0)
            if told is not None:
                await self._worker.queue_frame(LLMSetToolsFrame(tools=told))
        self._scenarios += 1

    def messages(self) -> list[Any]:
        """Return the system prompt and the chat messages after it."""
        system = [{"role": "system", "content": self._prompt}] if self._prompt else []
        return [*system, *self._context.get_messages()]

    async def check_model(self) -> str:
        """Ask the model something cheap; return what is wrong with it, or an empty text."""
        return await self._llm.check_model()

    async def report(self, data: dict[str, object]) -> None:
        """Send a server-message at once."""
        await self._worker.rtvi.send_server_message(data)

    async def _push(self, data: dict[str, object]) -> None:
        """Send a server-message in order with the events of the tool calls around it."""
        await self._llm.push_frame(RTVIServerMessageFrame(data=data))

    async def hush(self) -> None:
        """Silence the bot and forget what was heard; context and scenario stay."""
        await self._worker.rtvi.interrupt_bot()
        forget_audio(self._stt)

    async def _answer(self, rtvi: RTVIProcessor, message: object) -> None:
        """Answer a request; the answers leave in the order in which the requests came."""
        async with self._answering:
            await self._answer_next(rtvi, message)

    async def _answer_next(self, rtvi: RTVIProcessor, message: Any) -> None:
        try:
            result = await self._control.answer(message.type, message.data)
        except UnknownMessage as error:
            await rtvi.send_error_response(message, str(error))
        except Exception as error:  # noqa: BLE001 - the contract words a failing handler as an error response
            logger.warning("%s failed: %s", message.type, error)
            await rtvi.send_error_response(message, f"{type(error).__name__}: {error}")
        else:
            await rtvi.send_server_response(message, result)


def _reported() -> RTVIObserverParams:
    return RTVIObserverParams(
        bot_output_enabled=False,
        user_llm_enabled=False,
        user_input_enabled=False,
        function_call_report_level={"*": RTVIFunctionCallReportLevel.FULL},
    )


def _schema(tool: Tool) -> FunctionSchema:
    return FunctionSchema(tool.name, tool.description, dict(tool.properties), list(tool.required))
