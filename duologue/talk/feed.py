"""The call as the page sees it: events of the trace as small messages, kept so that a reload loses nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from duologue.records.action import Side
from duologue.records.event import (
    ActionApplied,
    BotReady,
    BotSpeaking,
    CallEnded,
    CallStarted,
    Event,
    Fault,
    HeardText,
    Interrupted,
    SpokenText,
    ToolCalled,
    ToolReturned,
)

Message = dict[str, object]

TIME_EVERY_MS = 200  # a clock on a page that shows tenths needs no more
MAX_QUEUED = 2000  # messages of minutes: a page so far behind is gone, and is sent the whole state when it is back


class Feed:
    """Messages for one page.

    Args:
        side: the side that the person holds.
        on_heard: called with each final sentence that the other side's recognizer made of the person's words.
    """

    def __init__(self, side: Side, on_heard: Callable[[str], None] | None = None) -> None:
        self._side = side
        self._on_heard = on_heard or (lambda text: None)
        self._kept: list[Message] = []
        self._state: Message | None = None
        self._reader: asyncio.Queue[Message | None] | None = None

    def history(self) -> list[Message]:
        """Return everything that a page needs to be where the call is."""
        return [*self._kept, *([self._state] if self._state is not None else [])]

    def subscribe(self) -> asyncio.Queue[Message | None]:
        """Return the queue of messages from now on; None ends it. The reader before is ended."""
        self.unsubscribe(self._reader)
        self._reader = asyncio.Queue(MAX_QUEUED)
        return self._reader

    def unsubscribe(self, reader: asyncio.Queue[Message | None] | None) -> None:
        """End one reader."""
        if reader is not None and reader is self._reader:
            self._reader = None
            if not reader.full():
                reader.put_nowait(None)

    def publish(self, message: Message, *, keep: bool = True) -> None:
        """Send a message to the page; a page that does not read for long is let go."""
        if keep:
            self._kept.append(message)
        reader = self._reader
        if reader is None:
            return
        if reader.full():
            self._reader = None
            reader.get_nowait()
            reader.put_nowait(None)
            return
        reader.put_nowait(message)

    async def drained(self) -> None:
        """Wait until the page was sent everything; returns at once without a page."""
        if self._reader is not None:
            await self._reader.join()

    def status(self, status: str, text: str = "") -> None:
        """Say where the call is: waiting, preparing, talking, ending, scoring, ended."""
        self.publish({"type": "status", "status": status, "text": text})

    def state(self, visible: Any) -> None:
        """Show the state of the person's side, when it has changed."""
        message = {"type": "state", "state": visible}
        if message != self._state:
            self._state = message
            self.publish(message, keep=False)

    def ticked(self, media_ms: int) -> None:
        """Show the time of the call, a few times a second."""
        if media_ms % TIME_EVERY_MS == 0:
            self.publish({"type": "time", "media_ms": media_ms}, keep=False)

    def saw(self, event: Event) -> None:
        """Take in one event. What the other side does with its tools stays hidden."""
        match event:
            case BotReady():
                self.status("preparing")
            case CallStarted():
                self.status("talking")
            case BotSpeaking(side=side, speaking=speaking) if side is not self._side:
                self.publish({"type": "speaking", "speaking": speaking})
            case SpokenText(side=side, text=text) if side is not self._side:
                self.publish({"type": "said", "who": "other", "text": text})
            case HeardText(side=side, text=text, final=True) if side is not self._side:
                self.publish({"type": "said", "who": "you", "text": text})
                self._on_heard(text)
            case Interrupted(side=side) if side is not self._side:
                self.publish({"type": "cut"})
            case Fault(message=text):
                self.publish({"type": "fault", "text": text})
            case CallEnded(stop_reason=reason):
                self.status("scoring", reason.value)
            case ToolCalled(side=self._side, call_id=call_id, name=name, arguments=arguments):
                self.publish({"type": "tool", "id": call_id, "name": name, "arguments": arguments})
            case ToolReturned(side=self._side, call_id=call_id, name=name, result=result):
                self.publish({"type": "result", "id": call_id, "name": name, "result": result})
            case ActionApplied(side=self._side, action=action, accepted=True):
                self.publish({"type": "recorded", "name": action.name, "seq": action.seq})
            case _:
                pass
