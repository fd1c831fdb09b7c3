"""A person as a peer of the call: what the bridge grants goes to their ear, what they say and do comes back."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from duologue import __version__
from duologue.bridge.connection import Inbound, TickReply
from duologue.errors import BotTimeout, BotUnavailable, MalformedRequest, ProtocolViolation, RegistryError
from duologue.protocol.messages import LOCKSTEP, RTVI_VERSION, AudioChunk, ControlRequest, RtviMessage
from duologue.protocol.replies import BotAbout
from duologue.records.action import Side
from duologue.talk.phone_line import PhoneLine
from duologue.talk.seat import Seat
from duologue.talk.sound_queue import SILENCE

BRAIN = "human"
"""What a trace names as the brain of a side that a person held."""

CALLER_GOODBYE = "The caller hung up."
_MAX_WAITING = 20  # tools; more is a page that presses by itself
_LINE_REPORT_TICKS = 500  # ten seconds


class Phase(Enum):
    """How far a person is in a call. They are heard, and use tools, while TALKING only.

    ``WAITING`` for the first grant, ``TALKING``, ``HANGING_UP`` once the tools that wait have run, ``HUNG_UP``, and
    ``CLOSED`` when the call has let them go. Whoever has hung up may do so again: the other side may have stayed.
    """

    WAITING = auto()
    TALKING = auto()
    HANGING_UP = auto()
    HUNG_UP = auto()
    CLOSED = auto()


@dataclass(frozen=True, slots=True)
class Press:
    """A tool that the person asked for."""

    call_id: str
    name: str
    arguments: dict[str, Any]


class Person:
    """Takes the place of a bot's connection; has the methods of :class:`duologue.bridge.peer.Peer`.

    The person's deeds are carried out inside grants, one a tick, so that the state never changes between them.

    Args:
        side: the side they take.
        line: their microphone and ear.
        on_state: called after the side's state may have changed.
    """

    def __init__(self, side: Side, line: PhoneLine, on_state: Callable[[], None] | None = None) -> None:
        self.side = side
        self.url = "the browser"
        self.seat = Seat(side, CALLER_GOODBYE) if side is Side.USER else Seat(side)
        self._line = line
        self._on_state = on_state or (lambda: None)
        self._inbound: list[Inbound] = []
        self._presses: deque[Press] = deque()
        self._requests = 0
        self._presses_seen = 0
        self.phase = Phase.WAITING
        self._ticks = 0
        self._reported: dict[str, int] = {}

    @property
    def is_usable(self) -> bool:
        """Whether the person can be asked for their side's state: it is held here, whatever the line does."""
        return self.phase is not Phase.CLOSED

    async def open(self, timeout_s: float) -> None:
        """Wait for the line.

        Raises:
            BotUnavailable: the browser did not connect in time.
        """
        try:
            async with asyncio.timeout(timeout_s):
                await self._line.wait_connected()
        except TimeoutError as error:
            raise BotUnavailable(f"no browser connected within {timeout_s:g} s", side=self.side) from error

    async def handshake(self, timeout_s: float) -> BotAbout:
        """Return what a person can do."""
        capabilities = {"transport": LOCKSTEP, "tool_calling": True, "barrier": True, "brain": BRAIN, "plan": False}
        about = {"library": "duologue-talk", "library_version": __version__, "capabilities": capabilities}
        return BotAbout(
            RTVI_VERSION,
            about,
            transport=LOCKSTEP,
            barrier=True,
            ends_call=True,
            forwards_tools=True,
            world_events=True,
        )

    async def request(self, control: ControlRequest, timeout_s: float) -> tuple[str, object]:
        """Answer for the person's side.

        Raises:
            ProtocolViolation: the request does not fit.
        """
        self._requests += 1
        request_id = f"{control.t}-{self._requests}"
        try:
            d, pushed = self.seat.answer(control)
        except (MalformedRequest, RegistryError) as error:
            raise ProtocolViolation(str(error), side=self.side, request_id=request_id) from error
        self._inbound.extend(pushed)
        self._on_state()
        return request_id, d

    async def send_text(self, content: str) -> None:
        """Nothing: a person sees on the page that the call has begun."""

    async def start_grant(self, pcm: bytes) -> asyncio.Future[TickReply]:
        """Play one tick, carry out at most one deed, and return what the microphone has.

        Raises:
            BotUnavailable: the browser is gone.
        """
        if self._line.is_lost or self.phase is Phase.CLOSED:
            reason = self._line.lost_because or "the line is closed"
            raise BotUnavailable(f"the person on the {self.side} side is gone: {reason}", side=self.side)
        if self.phase is Phase.WAITING:
            self.phase = Phase.TALKING
            self._line.microphone.clear()
        self._line.playout.put(pcm)
        said = self._line.microphone.take()
        self._act()
        self._report_line()
        inbound, self._inbound = tuple(self._inbound), []
        future: asyncio.Future[TickReply] = asyncio.get_running_loop().create_future()
        future.set_result(TickReply(AudioChunk(said if self.phase is Phase.TALKING else SILENCE), inbound))
        return future

    def expire_grant(self, timeout_s: float) -> BotTimeout:
        """Return the error of a grant without an answer."""
        return BotTimeout(f"no answer for the {self.side} side within {timeout_s:g} s", side=self.side)

    def abandon_grant(self) -> None:
        """Nothing: grants are answered at once."""

    def queued(self) -> tuple[Inbound, ...]:
        """Return what was said since the last grant."""
        return tuple(self._inbound)

    async def close(self) -> None:
        """Hang up."""
        self.phase = Phase.CLOSED
        await self._line.close()

    def abort(self) -> None:
        """Answer nothing from now on."""
        self.phase = Phase.CLOSED

    def press(self, name: str, arguments: dict[str, object]) -> str:
        """Ask for a tool; it runs in the next grant that is free. Returns the id of the call.

        Raises:
            ValueError: the call has not begun or is about to end, or too many tools wait.
        """
        if self.phase is not Phase.TALKING:
            raise ValueError("tools can be used during the call only")
        if len(self._presses) >= _MAX_WAITING:
            raise ValueError(f"{_MAX_WAITING} tools are waiting already")
        self._presses_seen += 1
        call_id = f"press-{self._presses_seen}"
        self._presses.append(Press(call_id, name, arguments))
        return call_id

    def hang_up(self) -> None:
        """End the call once the tools that wait have run; the microphone is off from now on."""
        if self.phase is not Phase.CLOSED:
            self.phase = Phase.HANGING_UP

    def spoke(self, text: str) -> None:
        """Note words of the person's, as the other side understood them."""
        self._inbound.append(RtviMessage("bot-tts-text", data={"text": f"{text.strip()} "}))

    def _report_line(self) -> None:
        """Note in the trace what the line has done to the sound, when there is something new to tell."""
        self._ticks += 1
        microphone, playout = self._line.microphone, self._line.playout
        counts = {"microphone_gaps": microphone.ran_dry, "playout_gaps": playout.ran_dry, "lost_ticks": microphone.lost}
        if self._ticks % _LINE_REPORT_TICKS == 0 and counts != self._reported:
            self._reported = counts
            self._inbound.append(RtviMessage("server-message", data={"type": "line-quality", **counts}))

    def _act(self) -> None:
        if self.seat.is_waiting:
            return
        if self._presses:
            press = self._presses.popleft()
            self._inbound.extend(self.seat.perform(press.call_id, press.name, press.arguments))
        elif self.phase is Phase.HANGING_UP:
            self.phase = Phase.HUNG_UP
            self._inbound.extend(self.seat.hang_up("hang-up"))
        else:
            return
        self._on_state()
