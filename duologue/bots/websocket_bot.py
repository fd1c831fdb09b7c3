"""A bot in real time: one pipeline for the life of the process, and one client at a time."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import AsyncIterator
from typing import Any

from websockets.asyncio.server import Server

from duologue.bots.media_clock import real_monotonic
from duologue.bots.pipeline import SessionPipeline
from duologue.bots.services import Models
from duologue.bots.websocket_transport import CheckRequest, WebsocketTransport
from duologue.config import BotConfig
from duologue.errors import BotStateError

logger = logging.getLogger(__name__)

_LAG_STEP_S = 0.05  # short against what is reported, long against what waking up costs
_REPORTED_LAG_S = 0.25  # a quarter of a second is heard as a gap, whatever the buffers hold
_STOP_S = 10.0  # an end takes a second or two; a model that hangs is left behind


class WebsocketBot:
    """Serves foreign clients, and our bridge in real time, on one pipeline.

    Args:
        config: the bot's settings.
        models: the process's models.
        listener: the bound socket.
        check: admits or refuses the opening request of a client.
    """

    def __init__(self, config: BotConfig, models: Models, listener: socket.socket, check: CheckRequest) -> None:
        self._listening: asyncio.Future[Server] = asyncio.get_running_loop().create_future()
        transport = WebsocketTransport(
            listener,
            origins=[None, *config.server.allowed_origins],
            check=check,
            hear=self._hear,
            gone=self._hush,
            listening=self._listening.set_result,
        )
        self._pipeline = SessionPipeline(config, models, transport)

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[Server]:
        """Run the pipeline for the length of the block; give the server once it listens.

        Raises:
            BotStateError: the pipeline ended before it listened.
        """
        run = asyncio.create_task(self._pipeline.run())
        watch = asyncio.create_task(self._watch_lag())
        try:
            waits: set[asyncio.Future[Any]] = {run, self._listening}
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            if not self._listening.done():
                raise BotStateError("the pipeline ended before it listened") from run.exception()
            self._ended = run
            yield self._listening.result()
        finally:
            watch.cancel()
            await self._stop(run)

    async def ended(self) -> None:
        """Wait until the pipeline ends by itself, which it should not.

        Raises:
            BotStateError: always.
        """
        await asyncio.wait({self._ended})
        raise BotStateError("a service of the bot failed; its pipeline has ended")

    async def _stop(self, run: asyncio.Task[None]) -> None:
        await self._pipeline.stop()
        with contextlib.suppress(TimeoutError, asyncio.CancelledError):
            async with asyncio.timeout(_STOP_S):
                await run

    def _hear(self, message: dict[str, object]) -> None:
        if message.get("type") == "client-ready":
            self._pipeline.calls.meet(message)

    async def _hush(self) -> None:
        """Keep the scenario, but do not talk to the next client about what the last one was told."""
        self._pipeline.calls.uses_barrier = False
        await self._pipeline.hush()

    async def _watch_lag(self) -> None:
        """Tell the client when this process falls behind real time: what it hears and says is late then."""
        while True:
            before = real_monotonic()
            await asyncio.sleep(_LAG_STEP_S)
            lag_s = real_monotonic() - before - _LAG_STEP_S
            if lag_s > _REPORTED_LAG_S:
                logger.warning("the event loop was %d ms late", round(lag_s * 1000))
                await self._pipeline.report({"type": "loop-lag", "lag_ms": round(lag_s * 1000)})
