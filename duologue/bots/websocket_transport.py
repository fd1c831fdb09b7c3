"""The real-time transport: Pipecat's own WebSocket server and serializer, for clients that are not our bridge.

One client at a time; a newcomer is closed with code 1013. The pipeline outlives its clients, so a scenario that
was prepared on one connection is played on the next. Time is the machine's: no session clock is involved.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Awaitable, Callable

from pipecat.frames.frames import Frame, InputTransportMessageFrame, OutputTransportMessageFrame
from pipecat.frames.frames import OutputTransportMessageUrgentFrame as UrgentMessage
from pipecat.serializers.protobuf import ProtobufFrameSerializer
from pipecat.transports.websocket.server import (
    SingleClientWebsocketServerInputTransport,
    SingleClientWebsocketServerParams,
    SingleClientWebsocketServerTransport,
)
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.http11 import Request, Response

from duologue.bots.session import MAX_MESSAGE_BYTES, encoded_message

logger = logging.getLogger(__name__)

CheckRequest = Callable[[ServerConnection, Request], Response | None]
Hear = Callable[[dict[str, object]], None]


class _Serializer(ProtobufFrameSerializer):
    """Pipecat's serializer. ``hear`` sees each RTVI message first; answers that nobody would take are replaced."""

    def __init__(self, hear: Hear) -> None:
        super().__init__()
        self._hear = hear

    async def deserialize(self, data: str | bytes) -> Frame | None:
        frame = await super().deserialize(data)
        if not isinstance(frame, InputTransportMessageFrame):
            return frame
        if not isinstance(frame.message, dict):
            raise ValueError("a message frame must hold a JSON object")
        if frame.message.get("type") == "disconnect-bot":
            logger.info("ignored disconnect-bot: a client does not end this bot")
            return None
        self._hear(frame.message)
        return frame

    async def serialize(self, frame: Frame) -> str | bytes | None:
        if isinstance(frame, OutputTransportMessageFrame | UrgentMessage) and isinstance(frame.message, dict):
            return encoded_message(frame.message)
        if type(frame) not in self.SERIALIZABLE_TYPES:
            return None
        data: str | bytes | None = await super().serialize(frame)
        return data


class _Input(SingleClientWebsocketServerInputTransport):
    """Serves on a socket that is already bound, with the bot's own admission."""

    def __init__(self, transport: WebsocketTransport, params: SingleClientWebsocketServerParams) -> None:
        super().__init__(transport, "", 0, params, transport.callbacks)
        self._own = transport

    async def _server_task_handler(self) -> None:
        own = self._own
        async with serve(
            self._client_handler,
            sock=own.listener,
            origins=own.origins,  # type: ignore[arg-type]
            process_request=own.check,
            max_size=MAX_MESSAGE_BYTES,
        ) as server:
            own.listening(server)
            await self._callbacks.on_websocket_ready()
            await self._stop_server_event.wait()


class WebsocketTransport(SingleClientWebsocketServerTransport):
    """Pipecat's single-client WebSocket server on a bound socket.

    Args:
        listener: the bound socket.
        origins: allowed ``Origin`` headers; None stands for clients that send none.
        check: looks at the opening request; an answer refuses it.
        hear: called with each RTVI message of the client before the pipeline sees it.
        gone: awaited after a client has left.
        listening: called once with the server.
    """

    def __init__(
        self,
        listener: socket.socket,
        *,
        origins: list[str | None],
        check: CheckRequest,
        hear: Hear,
        gone: Callable[[], Awaitable[None]],
        listening: Callable[[Server], None],
    ) -> None:
        params = SingleClientWebsocketServerParams(
            audio_in_enabled=True,
            audio_out_enabled=True,
            audio_out_end_silence_secs=0,
            serializer=_Serializer(hear),
        )
        super().__init__(params)
        self._own_input: _Input | None = None
        self.listener, self.origins, self.check, self.listening = listener, origins, check, listening
        self._gone = gone

    @property
    def callbacks(self) -> object:
        """What the input side calls on connects and disconnects."""
        return self._callbacks

    def input(self) -> SingleClientWebsocketServerInputTransport:
        """Return the first processor of the pipeline."""
        if self._own_input is None:
            self._input = self._own_input = _Input(self, self._params)
        return self._own_input

    async def _on_client_disconnected(self, websocket: object) -> None:
        await super()._on_client_disconnected(websocket)
        await self._gone()
