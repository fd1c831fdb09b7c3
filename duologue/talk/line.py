"""The WebRTC end of a call: one browser, one microphone in, one voice out. The only module that uses aiortc.

aiortc itself, not Pipecat's transport on top of it: a person is a peer of the bridge, which has no pipeline.
"""

from __future__ import annotations

import asyncio
import fractions
import logging

import numpy as np
from aiortc import MediaStreamTrack, RTCConfiguration, RTCPeerConnection, RTCSessionDescription
from aiortc.mediastreams import MediaStreamError
from av import AudioFrame

from duologue.clock import Clock
from duologue.talk.phone_line import LineError, PhoneLine
from duologue.talk.rates import LINE_RATE_HZ, LINE_SAMPLES, LineFromTicks, TicksFromLine
from duologue.talk.sound_queue import SoundQueue

_TICK_S = 0.02  # one tick of the line
_CLOSE_S = 1.0  # a browser that is there answers at once; one that is gone never does
_SILENT_LINE_S = 5.0
"""A browser sends sound all the time, silence too; without any for so long it is gone."""

logger = logging.getLogger(__name__)


class WebRtcLine(PhoneLine):
    """A line to one browser. A line that never came up takes another offer; one that was up and fell is lost."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock
        self._connection: RTCPeerConnection | None = None
        self._listener: asyncio.Task[None] | None = None

    async def answer(self, sdp: str) -> str:
        """Take a browser's offer and return the answer, as SDP.

        Raises:
            LineError: the line is taken, or the offer is none, or without sound.
        """
        if self.is_connected or self.is_lost:
            raise LineError("the call is under way, or over; it cannot be joined again")
        await self._drop()
        connection = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        self._connection = connection
        connection.on("track", self._heard_track)
        connection.on("connectionstatechange", lambda: self._state_changed(connection))
        try:
            await connection.setRemoteDescription(RTCSessionDescription(sdp, "offer"))
            if not any(transceiver.kind == "audio" for transceiver in connection.getTransceivers()):
                raise LineError("the offer has no sound in it")
            connection.addTrack(_Voice(self.playout, self._clock))
            await connection.setLocalDescription(await connection.createAnswer())
        except LineError:
            await self._drop()
            raise
        except Exception as error:
            await self._drop()
            raise LineError(f"not a usable WebRTC offer ({type(error).__name__}: {error})") from error
        return str(connection.localDescription.sdp)

    async def close(self) -> None:
        """Hang up; bounded to about a second."""
        await self._drop()

    async def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if self._listener is not None:
            self._listener.cancel()
            await asyncio.wait([self._listener])
            self._listener = None
        if connection is not None:
            closing = asyncio.create_task(connection.close())
            await asyncio.wait([closing], timeout=_CLOSE_S)

    def _state_changed(self, connection: RTCPeerConnection) -> None:
        if connection is not self._connection:
            return
        state = connection.connectionState
        logger.info("line %s", state)
        if state == "connected":
            self.came_up()
        elif state in ("failed", "closed"):
            self.fell(f"the browser's line is {state}")

    def _heard_track(self, track: MediaStreamTrack) -> None:
        if track.kind == "audio" and self._listener is None:
            self._listener = asyncio.create_task(self._listen(track), name="microphone")

    async def _listen(self, track: MediaStreamTrack) -> None:
        ticks = TicksFromLine()
        try:
            while True:
                async with asyncio.timeout(_SILENT_LINE_S):
                    frame = await track.recv()
                if not isinstance(frame, AudioFrame) or not frame.format.name.startswith("s16"):
                    continue
                channels = len(frame.layout.channels)
                samples = frame.to_ndarray()
                interleaved = samples.T.reshape(-1) if frame.format.is_planar else samples.reshape(-1)
                for tick in ticks.push(np.ascontiguousarray(interleaved), frame.sample_rate, channels):
                    self.microphone.put(tick)
        except MediaStreamError:
            self.fell("the browser's microphone ended")
        except TimeoutError:
            self.fell(f"nothing came from the browser for {_SILENT_LINE_S:g} s")


class _Voice(MediaStreamTrack):
    """What the person hears, paced in real time."""

    kind = "audio"

    def __init__(self, playout: SoundQueue, clock: Clock) -> None:
        super().__init__()
        self._playout = playout
        self._clock = clock
        self._line = LineFromTicks()
        self._started: float | None = None
        self._frames = 0

    async def recv(self) -> AudioFrame:
        """Return the next 20 ms at its time."""
        if self.readyState != "live":
            raise MediaStreamError
        if self._started is None:
            self._started = self._clock.monotonic()
        ahead = self._started + self._frames * _TICK_S - self._clock.monotonic()
        await self._clock.sleep(max(ahead, 0.0))
        samples = self._line.push(self._playout.take())
        frame = AudioFrame.from_ndarray(samples.reshape(1, -1), format="s16", layout="mono")
        frame.sample_rate = LINE_RATE_HZ
        frame.time_base = fractions.Fraction(1, LINE_RATE_HZ)
        frame.pts = self._frames * LINE_SAMPLES
        self._frames += 1
        return frame
