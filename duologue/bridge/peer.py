"""What a call asks of the one who holds a side: a bot behind a connection, or a person."""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

from duologue.bridge.connection import Inbound, TickReply
from duologue.errors import BotTimeout
from duologue.protocol.messages import ControlRequest
from duologue.protocol.replies import BotAbout
from duologue.records.action import Side


class Peer(Protocol):
    """One side of a call. Its methods raise what :class:`duologue.bridge.connection.BotConnection` raises."""

    side: Side
    url: str

    @property
    def is_usable(self) -> bool:
        """Whether it is there and nothing failed."""

    async def open(self, timeout_s: float) -> None:
        """Reach it within ``timeout_s`` of wall time."""

    async def handshake(self, timeout_s: float) -> BotAbout:
        """Return what it says of itself."""
        ...

    async def request(self, control: ControlRequest, timeout_s: float) -> tuple[str, Any]:
        """Ask for something; return the request's id and the ``d`` of its answer."""
        ...

    async def send_text(self, content: str) -> None:
        """Make it answer a text at once."""

    async def start_grant(self, pcm: bytes) -> asyncio.Future[TickReply]:
        """Give one tick of 16 kHz mono sound; the future holds what comes back."""
        ...

    def expire_grant(self, timeout_s: float) -> BotTimeout:
        """Give it up in a grant and return the error to raise."""
        ...

    def abandon_grant(self) -> None:
        """Stop waiting for the open grant, if there is one."""

    def queued(self) -> tuple[Inbound, ...]:
        """Return what came since the last grant, without taking it."""
        ...

    async def close(self) -> None:
        """Part, within about a second."""

    def abort(self) -> None:
        """Part at once."""
