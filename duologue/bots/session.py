"""One connection: frames in, session time granted, messages and audio out."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any, Protocol

from google.protobuf.message import DecodeError
from pipecat.frames.protobufs import frames_pb2

from duologue.bots.lockstep_transport import FRAME_MS, FRAME_S, LockstepTransport
from duologue.bots.media_clock import SessionClock, VirtualLoop
from duologue.bots.pipeline import SessionPipeline
from duologue.bots.services import Models
from duologue.config import BotConfig
from duologue.errors import DuologueError
from duologue.protocol.strict_json import parse_json

logger = logging.getLogger(__name__)

MAX_MESSAGE_BYTES = 1024 * 1024  # what clients take, as websockets does by default
_STOP_STEP_S = 0.5  # session time, so that timers of the pipeline's end fire
_STOP_STEPS = 60  # 30 s of session time; an end waits for nothing of the world and is over in a second or two


class BadInput(DuologueError):
    """The client sent something that the wire does not allow. ``code`` is the WebSocket close code."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Connection(Protocol):
    """The socket of a session."""

    async def send(self, message: bytes) -> None:
        """Send one binary message."""
        ...


class Session:
    """A pipeline on its own clock, driven by what a client sends.

    Args:
        config: the bot's settings.
        models: the process's models.
    """

    def __init__(self, config: BotConfig, models: Models) -> None:
        loop = asyncio.get_running_loop()
        if not isinstance(loop, VirtualLoop):
            raise TypeError("a lock-step session needs a VirtualLoop")
        self._config = config
        self._models = models
        self._clock = SessionClock(loop)
        self._out_hz = config.transport.audio_out_sample_rate
        self._frame_bytes = config.transport.audio_in_sample_rate * FRAME_MS // 1000 * 2
        self._ticks = 0
        self._is_dismissed = False

    async def open(self) -> None:
        """Build and start the pipeline; it is running at session time 0 when this returns."""
        build = self._clock.create_task(self._build())
        await self._clock.settle()
        self._pipeline = await build
        self._run = self._clock.create_task(self._pipeline.run())
        await self._clock.settle()

    async def _build(self) -> SessionPipeline:
        self._transport = LockstepTransport(self._out_hz)
        return SessionPipeline(self._config, self._models, self._transport)

    @property
    def end(self) -> tuple[int, str] | None:
        """Close code and reason once the pipeline has ended, else None."""
        if not self._run.done():
            return None
        return (1000, "the client ended the session") if self._is_dismissed else (1011, "a service of the bot failed")

    async def take(self, data: bytes | str, connection: Connection) -> None:
        """Handle one WebSocket message and send everything it brings about.

        Raises:
            BadInput: the message is not allowed on this wire.
        """
        frame = _parsed(data)
        match frame.WhichOneof("frame"):
            case "message":
                await self._message(_json_object(frame.message.data))
                await self._send_messages(connection)
            case "audio":
                await self._grant(frame.audio)
                await self._send_messages(connection)
                await connection.send(self._audio_out)
            case other:
                logger.info("ignored a %s frame", other)

    async def _message(self, message: dict[str, object]) -> None:
        if message.get("type") == "client-ready":
            self._pipeline.calls.meet(message)
        self._is_dismissed = self._is_dismissed or message.get("type") == "disconnect-bot"
        self._clock.create_task(self._transport.receive(message))
        await self._clock.settle()

    async def _grant(self, audio: Any) -> None:
        """Give the session 20 ms, and take what it plays in them."""
        rate = self._config.transport.audio_in_sample_rate
        if audio.sample_rate != rate or audio.num_channels != 1 or len(audio.audio) != self._frame_bytes:
            raise BadInput(
                1007,
                f"audio must be {FRAME_MS} ms of {rate} Hz mono s16 ({self._frame_bytes} bytes), not "
                f"{len(audio.audio)} bytes of {audio.sample_rate} Hz with {audio.num_channels} channels",
            )
        self._clock.create_task(self._transport.hear(audio.audio, rate))
        await self._clock.advance(FRAME_S)
        pcm = self._transport.take_audio()
        await self._clock.settle()
        self._ticks += 1
        frame = frames_pb2.Frame()
        frame.audio.audio, frame.audio.sample_rate, frame.audio.num_channels = pcm, self._out_hz, 1
        frame.audio.pts = self._ticks
        self._audio_out: bytes = frame.SerializeToString()

    async def _send_messages(self, connection: Connection) -> None:
        for message in self._transport.take_messages():
            await connection.send(encoded_message(message))

    def give_up(self) -> None:
        """Stop waiting for real-world work, because the client is gone."""
        self._clock.give_up()

    async def close(self) -> None:
        """Cancel the pipeline and give it the session time it needs to end; bounded."""
        stop = self._clock.create_task(self._pipeline.stop())
        for _ in range(_STOP_STEPS):
            if self._run.done() and stop.done():
                break
            await self._clock.advance(_STOP_STEP_S)
        else:
            logger.error("a session did not end within %g s of session time", _STOP_STEP_S * _STOP_STEPS)
            self._run.cancel()
            stop.cancel()
            await self._clock.settle()
        for task in (self._run, stop):
            if task.done() and not task.cancelled() and task.exception():
                logger.error("a session ended with an error", exc_info=task.exception())


def _parsed(data: bytes | str) -> Any:
    if isinstance(data, str):
        raise BadInput(1003, "messages must be binary")
    try:
        return frames_pb2.Frame.FromString(data)
    except DecodeError as error:
        raise BadInput(1007, "not a Pipecat protobuf frame") from error


def _json_object(text: str) -> dict[str, object]:
    try:
        value = parse_json(text)
    except ValueError as error:
        raise BadInput(1007, "a message frame must hold JSON") from error
    if not isinstance(value, dict):
        raise BadInput(1007, "a message frame must hold a JSON object")
    return value


def encoded_message(message: dict[str, object]) -> bytes:
    """Return the frame of one RTVI message; of a ``too large`` error in its place when no client would take it."""
    data = _encoded(message)
    return data if len(data) <= MAX_MESSAGE_BYTES else _encoded(_too_large(message, len(data)))


def _encoded(message: dict[str, object]) -> bytes:
    frame = frames_pb2.Frame()
    frame.message.data = json.dumps(message)
    data: bytes = frame.SerializeToString()
    return data


def _too_large(message: dict[str, object], size: int) -> dict[str, object]:
    error = f"ValueError: the answer has {size} bytes; the wire takes {MAX_MESSAGE_BYTES}"
    logger.error("%s: %s", message.get("type"), error)
    kind = "error-response" if message.get("id") else "error"
    return {"label": message["label"], "type": kind, "id": message.get("id"), "data": {"error": error}}
