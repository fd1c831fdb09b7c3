"""The line to a person, apart from what carries it."""

from __future__ import annotations

import asyncio

from duologue.errors import DuologueError
from duologue.talk.sound_queue import SoundQueue

LEAD_TICKS = 3  # 60 ms: jitter within a machine or a local network is less, and nobody hears the delay
STANDING_TICKS = 50  # one second: shorter than that, a delay passes by itself


class LineError(DuologueError):
    """The line cannot be had, or not in this way."""


class PhoneLine:
    """Two queues of sound and whether the line is up. ``microphone`` holds what the person said.

    What was said during a stall of the call has its place in the call, so the microphone is shortened only when a
    delay stands; towards the person every silence is a chance to catch up.
    """

    def __init__(self) -> None:
        self.microphone = SoundQueue(lead=LEAD_TICKS, patience=STANDING_TICKS)
        self.playout = SoundQueue(lead=LEAD_TICKS)
        self.lost_because = ""
        self._is_up = asyncio.Event()

    @property
    def is_connected(self) -> bool:
        """Whether sound goes both ways."""
        return self._is_up.is_set() and not self.is_lost

    @property
    def is_lost(self) -> bool:
        """Whether the line was up and fell; it does not come back."""
        return bool(self.lost_because)

    async def wait_connected(self) -> None:
        """Wait until the line is up."""
        await self._is_up.wait()

    def came_up(self) -> None:
        """Sound can go both ways from now on."""
        self._is_up.set()

    def fell(self, because: str) -> None:
        """The line is gone; says nothing about a line that never was up."""
        if self._is_up.is_set() and not self.lost_because:
            self.lost_because = because

    async def answer(self, sdp: str) -> str:
        """Take an offer in SDP and return the answer; raises LineError."""
        raise LineError("this line takes no offers")

    async def close(self) -> None:
        """Hang up."""
