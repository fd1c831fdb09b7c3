"""One connection to one bot: the only place that opens a client socket.

A single reader task sorts what comes in: answers go to the request that waits for them, an audio frame
ends the open grant, everything else queues for the grant in which it arrived. The first failure is kept;
everything that waits, or is asked later, raises it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidMessage, InvalidStatus, InvalidURI

from duologue import __version__
from duologue.clock import Clock
from duologue.errors import BotBusy, BotError, BotTimeout, BotUnavailable, ProtocolViolation
from duologue.protocol import messages
from duologue.protocol.codec import decode, encode
from duologue.protocol.messages import (
    MAX_MESSAGE_BYTES,
    SAMPLE_RATE_HZ,
    AudioChunk,
    ControlRequest,
    IgnoredFrame,
    InterruptionMark,
    RtviMessage,
)
from duologue.protocol.replies import BotAbout, parse_bot_ready
from duologue.protocol.requests import ANSWER_TYPES, HANDSHAKE, Reply, RequestBook, StrayAnswer
from duologue.records.action import Side
from duologue.records.redaction import redact_url

_FIRST_BACKOFF_S = 0.1  # a bot on the same machine listens within a few tries
_MAX_BACKOFF_S = 1.0  # so that a bot that loads models is met soon after it listens
_TRY_AGAIN_LATER = 1013  # close codes of the WebSocket registry at IANA
_MESSAGE_TOO_BIG = 1009  # RFC 6455

Inbound = RtviMessage | InterruptionMark | StrayAnswer
"""What a bot sent besides sound and expected answers."""


@dataclass(frozen=True, slots=True)
class TickReply:
    """What a bot gave for one grant: its sound, and before it its messages in order.

    ``has_more``: it has sent further sound already. ``lag_ms``: how late it says it is.
    """

    audio: AudioChunk
    inbound: tuple[Inbound, ...]
    has_more: bool = False
    lag_ms: int = 0


class BotConnection:
    """A WebSocket to one bot. Use :meth:`open`, then requests and grants, then :meth:`close`."""

    def __init__(self, side: Side, url: str, clock: Clock, *, token: str | None = None) -> None:
        self.side = side
        self.url = redact_url(url)
        self._address = url
        self._clock = clock
        self._token = token
        self._book = RequestBook()
        self._waiting: dict[str, asyncio.Future[Any]] = {}
        self._grant: asyncio.Future[TickReply] | None = None
        self._inbound: list[Inbound] = []
        self._abandoned = 0
        self._failure: BotError | None = None
        self._socket: ClientConnection | None = None
        self._reader: asyncio.Task[None] | None = None

    @property
    def is_usable(self) -> bool:
        """Whether the connection is open and nothing failed on it."""
        return self._socket is not None and self._failure is None

    async def open(self, timeout_s: float) -> None:
        """Connect, trying again while nothing listens, for at most ``timeout_s``.

        Raises:
            BotUnavailable: nothing listens, or the bot is busy.
            ProtocolViolation: something else listens, or the bot refuses us.
        """
        deadline = self._clock.monotonic() + timeout_s
        backoff = _FIRST_BACKOFF_S
        while True:
            left = deadline - self._clock.monotonic()
            try:
                self._socket = await self._connect(max(left, _FIRST_BACKOFF_S))
                break
            except OSError as error:
                if left <= backoff:
                    raise self._unreachable(error) from error
            await self._clock.sleep(backoff)
            backoff = min(2 * backoff, _MAX_BACKOFF_S)
        self._reader = asyncio.create_task(self._read(self._socket), name=f"{self.side} reader")

    async def _connect(self, timeout_s: float) -> ClientConnection:
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        try:
            return await connect(
                self._address,
                compression=None,
                ping_interval=None,
                max_size=MAX_MESSAGE_BYTES,
                max_queue=None,
                open_timeout=timeout_s,
                close_timeout=1.0,
                additional_headers=headers,
                user_agent_header=f"duologue/{__version__}",
                proxy=None,
            )
        except InvalidURI as error:
            raise self._violation(f"{self.url!r} is not a WebSocket address (ws://host:port)") from error
        except InvalidStatus as error:
            raise self._refused(error.response.status_code) from error
        except TimeoutError as error:
            raise BotUnavailable(
                f"{self.url} accepts connections but does not answer as a bot; is another program on that port? "
                f"{self._remedy}",
                side=self.side,
            ) from error
        except (InvalidHandshake, InvalidMessage, EOFError) as error:
            raise self._violation(f"{self.url} does not speak WebSocket ({error}); {self._remedy}") from error

    async def handshake(self, timeout_s: float) -> BotAbout:
        """Introduce ourselves and return what the bot says of itself.

        Raises:
            BotTimeout: no ``bot-ready``.
            ProtocolViolation: the answer is malformed.
        """
        request_id = self._book.open(HANDSHAKE)
        about = await self._answer(request_id, messages.client_ready(request_id, __version__), HANDSHAKE, timeout_s)
        try:
            return parse_bot_ready(about)
        except ValueError as error:
            raise self._violation(f"bot-ready: {error}", request_id) from error

    async def request(self, control: ControlRequest, timeout_s: float) -> tuple[str, Any]:
        """Send a request and return its id and the ``d`` of its answer.

        Raises:
            BotTimeout: no answer with the request's id within ``timeout_s`` of wall time.
            BotUnavailable: the connection ended.
            ProtocolViolation: an error response, or the request is too large to send.
        """
        request_id = self._book.open(control.t)
        return request_id, await self._answer(request_id, control.message(request_id), control.t, timeout_s)

    async def send_text(self, content: str) -> None:
        """Make the bot answer a text at once. Nothing is awaited."""
        await self._send(messages.send_text(self._book.issue("send-text"), content))

    async def start_grant(self, pcm: bytes) -> asyncio.Future[TickReply]:
        """Send one tick of 16 kHz mono sound; the future resolves with what the bot gives back.

        Raises:
            BotError: the connection failed.
        """
        self._grant = asyncio.get_running_loop().create_future()
        try:
            await self._send(AudioChunk(pcm, SAMPLE_RATE_HZ))
        except BotError:
            self._grant = None
            raise
        return self._grant

    def expire_grant(self, timeout_s: float) -> BotTimeout:
        """Give up a bot that hangs in a grant and return the error to raise."""
        error = BotTimeout(
            f"the {self.side} bot at {self.url} gave no audio for a tick within {timeout_s:g} s", side=self.side
        )
        self._failure = self._failure or error
        return error

    def abandon_grant(self) -> None:
        """Stop waiting for the open grant, if there is one; its audio is dropped when it still comes."""
        if self._grant is not None:
            self._grant.cancel()
            self._grant = None
            self._abandoned += 1

    def queued(self) -> tuple[Inbound, ...]:
        """Return what arrived since the last grant, without taking it."""
        return tuple(self._inbound)

    def _reopen(self) -> None:
        """Forget a connection that ended, so that :meth:`open` may be called again."""
        self._socket = self._reader = self._failure = None
        self._inbound.clear()

    async def close(self) -> None:
        """Close the connection; bounded to about a second."""
        if self._reader is not None:
            self._reader.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._reader
        if self._socket is not None:
            await self._socket.close()
        self._fail(BotUnavailable(f"the connection to the {self.side} bot is closed", side=self.side))

    def abort(self) -> None:
        """Drop the connection at once, without waiting for anything."""
        if self._reader is not None:
            self._reader.cancel()
        if self._socket is not None:
            self._socket.transport.abort()

    async def _answer(self, request_id: str, message: RtviMessage, kind: str, timeout_s: float) -> object:
        future: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = future
        try:
            async with asyncio.timeout(timeout_s):
                await self._send(message, request_id)
                return await future
        except TimeoutError as error:
            raise BotTimeout(
                f"the {self.side} bot at {self.url} did not answer {kind} within {timeout_s:g} s{self._stray_hint()}",
                side=self.side,
                request_id=request_id,
            ) from error
        finally:
            self._waiting.pop(request_id, None)
            self._book.give_up(request_id)
            future.cancel()

    async def _send(self, item: AudioChunk | RtviMessage, request_id: str | None = None) -> None:
        if self._failure is not None:
            raise self._failure
        if self._socket is None:
            raise BotUnavailable(f"not connected to the {self.side} bot", side=self.side)
        try:
            await self._socket.send(encode(item))
        except ValueError as error:
            raise self._violation(f"cannot send to the {self.side} bot: {error}", request_id) from error
        except ConnectionClosed as error:
            self._fail(self._ended(error))
            raise self._failure or self._ended(error) from error

    async def _read(self, socket: ClientConnection) -> None:
        try:
            while True:
                self._take(decode(await socket.recv()))
        except ConnectionClosed as error:
            self._fail(self._ended(error))
        except ValueError as error:
            self._fail(self._violation(f"the {self.side} bot at {self.url} sent {error}; {self._remedy}"))
        except BotError as error:
            self._fail(error)

    def _take(self, item: AudioChunk | RtviMessage | InterruptionMark | IgnoredFrame) -> None:
        if isinstance(item, AudioChunk):
            self._take_audio(item)
        elif isinstance(item, InterruptionMark):
            self._inbound.append(item)
        elif isinstance(item, RtviMessage):
            if item.type in ANSWER_TYPES:
                self._take_answer(item)
            else:
                self._inbound.append(item)

    def _take_audio(self, chunk: AudioChunk) -> None:
        if self._abandoned:
            self._abandoned -= 1
            return
        grant, self._grant = self._grant, None
        if grant is None:
            raise self._violation(f"the {self.side} bot sent an audio frame that no grant asked for")
        inbound, self._inbound = tuple(self._inbound), []
        grant.set_result(TickReply(chunk, inbound))

    def _take_answer(self, message: RtviMessage) -> None:
        match self._book.match(message):
            case StrayAnswer() as stray:
                self._inbound.append(stray)
            case Reply(request_id=request_id, error=error, result=result):
                future = self._waiting.get(request_id)
                if future is None or future.done():
                    return
                if error is None:
                    future.set_result(result)
                else:
                    future.set_exception(self._violation(f"the {self.side} bot refused: {error}", request_id))

    def _fail(self, error: BotError) -> None:
        if self._failure is None:
            self._failure = error
        waiting = [*self._waiting.values(), *([self._grant] if self._grant is not None else [])]
        for future in waiting:
            if not future.done():
                future.set_exception(self._failure)

    def _stray_hint(self) -> str:
        strays = [item.note for item in self._inbound if isinstance(item, StrayAnswer)]
        return f"; it sent: {strays[-1]}" if strays else ""

    def _ended(self, error: ConnectionClosed) -> BotError:
        if error.sent is not None and error.sent.code == _MESSAGE_TOO_BIG:
            return self._violation(f"the {self.side} bot sent a message larger than {MAX_MESSAGE_BYTES} bytes")
        if error.rcvd is not None and error.rcvd.code == _TRY_AGAIN_LATER:
            return BotBusy(f"the {self.side} bot at {self.url} is busy with another client", side=self.side)
        return BotUnavailable(f"the {self.side} bot at {self.url} ended the connection ({error})", side=self.side)

    def _refused(self, status: int) -> ProtocolViolation:
        if status in (401, 403):
            return self._violation(
                f"the {self.side} bot at {self.url} refused us (HTTP {status}); set DUOLOGUE_TOKEN to the bot's "
                "server.auth_token"
            )
        return self._violation(f"{self.url} is a web server but not a bot (HTTP {status}); {self._remedy}")

    def _unreachable(self, error: OSError) -> BotUnavailable:
        reason = "connection refused" if isinstance(error, ConnectionRefusedError) else str(error)
        return BotUnavailable(
            f"cannot reach the {self.side} bot at {self.url} ({reason}); {self._remedy}", side=self.side
        )

    @property
    def _remedy(self) -> str:
        return f"start the {self.side} bot, or pass --{self.side}-url"

    def _violation(self, text: str, request_id: str | None = None) -> ProtocolViolation:
        return ProtocolViolation(text, side=self.side, request_id=request_id)


def lockstep_problem(side: Side, url: str, about: BotAbout) -> str:
    """Return why a bot cannot take part in lock-step, or an empty text."""
    if not about.is_lockstep:
        spoken = about.transport or "none"
        return (
            f"the {side} bot at {url} does not offer the lock-step transport (it names: {spoken}); "
            "set transport.type: lockstep in its YAML file, or pass --bot-protocol realtime"
        )
    wanted: Mapping[str, int] = {"frame_ms": messages.TICK_MS, "audio_in_hz": SAMPLE_RATE_HZ}
    for key, value in wanted.items():
        if getattr(about, key) != value:
            return f"the {side} bot at {url} wants {key} = {getattr(about, key)}; this bridge sends {value}"
    return ""
