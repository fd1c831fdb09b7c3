"""A bot met in real time: it is sent a steady stream, and what it sends is played as it comes.

It looks like a connection in lock-step to the call: each grant takes 20 ms of sound and gives back 20 ms and the
messages that have come in, but it never waits for the bot. A bot that offers lock-step is met in the same way; its
ticks then simply come back a little later.
"""

from __future__ import annotations

import asyncio

from duologue.bridge.connection import BotConnection, TickReply
from duologue.bridge.realtime_buffer import JitterBuffer
from duologue.bridge.settings import RealtimeSettings
from duologue.clock import Clock
from duologue.errors import BotBusy
from duologue.protocol.messages import (
    SAMPLE_RATE_HZ,
    TICK_MS,
    AudioChunk,
    IgnoredFrame,
    InterruptionMark,
    RtviMessage,
)
from duologue.protocol.replies import BotAbout
from duologue.records.action import Side

LOOP_LAG = "loop-lag"
"""Type of the server-message in which our own bots say that their process fell behind real time."""


class RealtimeConnection(BotConnection):
    """A WebSocket to one bot in real time.

    Args:
        side: which side the bot is.
        url: where it listens.
        clock: wall time.
        settings: frame length, delays and limits.
        token: what the bot asks for, if it does.
    """

    def __init__(
        self, side: Side, url: str, clock: Clock, settings: RealtimeSettings, *, token: str | None = None
    ) -> None:
        super().__init__(side, url, clock, token=token)
        self._settings = settings
        self._frame_bytes = 2 * SAMPLE_RATE_HZ * settings.frame_ms // 1000
        self._unsent = bytearray()
        self._buffer = JitterBuffer(settings.jitter_ms)
        self._open_timeout_s = 0.0
        self._lag_ms = 0

    @property
    def gaps(self) -> int:
        """How often the bot's sound came too late, within its speech."""
        return self._buffer.gaps

    async def open(self, timeout_s: float) -> None:
        """Connect, trying again while nothing listens, for at most ``timeout_s``."""
        self._open_timeout_s = timeout_s
        await super().open(timeout_s)

    async def handshake(self, timeout_s: float) -> BotAbout:
        """Introduce ourselves; come back later to a bot that serves somebody else.

        Raises:
            BotBusy: it still does after the last attempt.
            BotTimeout: no ``bot-ready``.
            ProtocolViolation: the answer is malformed.
        """
        wait_s = self._settings.busy_wait_s
        for _ in range(self._settings.busy_attempts - 1):
            try:
                return self._adapted(await super().handshake(timeout_s))
            except BotBusy:
                await self._clock.sleep(wait_s)
            wait_s *= 2
            self._reopen()
            await self.open(self._open_timeout_s)
        return self._adapted(await super().handshake(timeout_s))

    async def start_grant(self, pcm: bytes) -> asyncio.Future[TickReply]:
        """Send one tick of 16 kHz mono sound; the future already holds what there is to hear and what has come in.

        Raises:
            BotError: the connection failed.
        """
        self._unsent += pcm
        while len(self._unsent) >= self._frame_bytes:
            frame = bytes(self._unsent[: self._frame_bytes])
            del self._unsent[: self._frame_bytes]
            await self._send(AudioChunk(frame, SAMPLE_RATE_HZ))
        if self._failure is not None:
            raise self._failure
        inbound, self._inbound = tuple(self._inbound), []
        reply: asyncio.Future[TickReply] = asyncio.get_running_loop().create_future()
        tick = AudioChunk(self._buffer.pop(), SAMPLE_RATE_HZ)
        has_more = self._buffer.ahead_ms > 0 and not self._buffer.skips_silence
        reply.set_result(TickReply(tick, inbound, has_more, self._lag_ms))
        self._lag_ms = 0
        return reply

    def abandon_grant(self) -> None:
        """Nothing waits for a bot in real time."""

    def _adapted(self, about: BotAbout) -> BotAbout:
        if about.is_lockstep:
            self._frame_bytes = 2 * SAMPLE_RATE_HZ * TICK_MS // 1000
            self._buffer.skips_silence = True
        return about

    def _take(self, item: AudioChunk | RtviMessage | InterruptionMark | IgnoredFrame) -> None:
        is_cut = isinstance(item, RtviMessage) and item.type == "bot-interrupted"
        if is_cut or isinstance(item, InterruptionMark):
            self._buffer.drop()
        if isinstance(item, RtviMessage) and isinstance(item.data, dict) and item.data.get("type") == LOOP_LAG:
            lag_ms = item.data.get("lag_ms")
            self._lag_ms = max(self._lag_ms, lag_ms if isinstance(lag_ms, int) else 0)
        super()._take(item)

    def _take_audio(self, chunk: AudioChunk) -> None:
        self._buffer.push(chunk)
