"""Lock-step transport: one 20 ms audio frame in grants 20 ms of session time; one 20 ms frame comes back.

:class:`LockstepTransport` is the session's end (a Pipecat transport). The other end, which feeds frames and
collects what the session answers, runs outside the session: see :mod:`duologue.bots.session`.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any

from pipecat.frames.frames import (
    ClientConnectedFrame,
    Frame,
    InputAudioRawFrame,
    InputTransportMessageFrame,
    InterruptionFrame,
    OutputAudioRawFrame,
    StartFrame,
)
from pipecat.processors.frame_processor import FrameDirection
from pipecat.transports.base_input import BaseInputTransport
from pipecat.transports.base_output import BaseOutputTransport
from pipecat.transports.base_transport import BaseTransport, TransportParams

FRAME_MS = 20  # one grant of the protocol
FRAME_S = FRAME_MS / 1000
_NEVER_S = 1e6  # Pipecat wants a bound for a write; here time stands still until it is done
_COUNTER = re.compile(r"#\d+")


class _Input(BaseInputTransport):
    async def start(self, frame: StartFrame) -> None:
        await super().start(frame)
        await self.push_frame(ClientConnectedFrame())
        await self.set_transport_ready(frame)

    def _create_audio_task(self) -> None:
        """Audio is pushed straight from the grant: no queue, no timer per frame."""

    async def push_audio_frame(self, frame: InputAudioRawFrame) -> None:
        if not self._paused:
            await self.push_frame(frame)


class _Output(BaseOutputTransport):
    """Offers one chunk at a time. The sender is held until the chunk is taken, so it lives in media time."""

    def __init__(self, params: TransportParams) -> None:
        super().__init__(params)
        self.messages: list[dict[str, Any]] = []
        self._offer: tuple[bytes, asyncio.Future[bool]] | None = None

    async def start(self, frame: StartFrame) -> None:
        await super().start(frame)
        await self.set_transport_ready(frame)

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        if isinstance(frame, InterruptionFrame):
            self._answer_offer(taken=False)
        await super().process_frame(frame, direction)

    async def send_message(self, frame: Any) -> None:
        self.messages.append(_without_counters(frame.message))

    async def write_audio_frame(self, frame: OutputAudioRawFrame) -> bool:
        taken: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._offer = (frame.audio, taken)
        return await taken

    def take(self) -> bytes | None:
        """Return the chunk on offer as played, or None when there is none."""
        audio = self._offer[0] if self._offer else None
        self._answer_offer(taken=True)
        return audio

    def _answer_offer(self, *, taken: bool) -> None:
        offer, self._offer = self._offer, None
        if offer is not None and not offer[1].done():
            offer[1].set_result(taken)


def _without_counters(message: dict[str, Any]) -> dict[str, object]:
    """Drop process-wide object counters from processor names, so that equal sessions send equal bytes."""
    if message.get("type") != "metrics":
        return message
    data = {
        kind: [_renamed(item) if isinstance(item, dict) else item for item in items]
        for kind, items in (message.get("data") or {}).items()
    }
    return {**message, "data": data}


def _renamed(item: dict[str, Any]) -> dict[str, object]:
    return {key: _COUNTER.sub("", value) if key == "processor" else value for key, value in item.items()}


class LockstepTransport(BaseTransport):
    """A Pipecat transport whose audio is pulled one frame per grant.

    Args:
        out_hz: sample rate of the audio it gives, in Hz.
    """

    def __init__(self, out_hz: int) -> None:
        super().__init__()
        params = TransportParams(
            audio_in_enabled=True,
            audio_out_enabled=True,
            audio_out_10ms_chunks=FRAME_MS // 10,
            audio_out_end_silence_secs=0,
            audio_out_write_timeout_secs=_NEVER_S,
        )
        self._input = _Input(params)
        self._output = _Output(params)
        self._silence = bytes(out_hz * FRAME_MS // 1000 * 2)

    def input(self) -> BaseInputTransport:
        """Return the first processor of the pipeline."""
        return self._input

    def output(self) -> BaseOutputTransport:
        """Return the processor after the speech."""
        return self._output

    async def hear(self, audio: bytes, sample_rate_hz: int) -> None:
        """Push 20 ms of mono s16 audio into the pipeline. Runs inside the session."""
        await self._input.push_audio_frame(InputAudioRawFrame(audio, sample_rate_hz, 1))

    async def receive(self, message: dict[str, object]) -> None:
        """Push an RTVI message into the pipeline. Runs inside the session."""
        await self._input.broadcast_frame(InputTransportMessageFrame, message=message)

    def take_audio(self) -> bytes:
        """Return the next 20 ms of speech or silence. Runs outside the session, once per grant."""
        return self._output.take() or self._silence

    def take_messages(self) -> list[dict[str, object]]:
        """Return and forget the messages sent since the last call."""
        messages, self._output.messages = self._output.messages, []
        return messages
