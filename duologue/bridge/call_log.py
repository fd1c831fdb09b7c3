"""The events of one call: stamped with media time, written to the trace, shown to a listener."""

from __future__ import annotations

from collections.abc import Callable

from duologue.errors import BotError, DuologueError
from duologue.records.action import Side
from duologue.records.event import Event, Fault, ProtocolNote
from duologue.records.outcome import Cause
from duologue.trace.writer import TraceWriter


class CallLog:
    """Writes events at the current media time.

    Args:
        writer: the open trace.
        on_event: called with each event after it is on disk.
    """

    def __init__(self, writer: TraceWriter, on_event: Callable[[Event], None] | None = None) -> None:
        self._writer = writer
        self._on_event = on_event
        self.t_ms = 0
        self.has_fatal_fault = False

    def write(self, event: Event) -> None:
        """Write one event."""
        if isinstance(event, Fault) and event.fatal:
            self.has_fatal_fault = True
        numbered = self._writer.append(event, t_ms=self.t_ms)
        if self._on_event is not None:
            self._on_event(numbered)

    def note(self, side: Side, text: str) -> None:
        """Write why something that a bot sent was dropped."""
        self.write(ProtocolNote(side=side, note=text))

    def fault(self, cause: Cause, error: BaseException, *, fatal: bool = True) -> None:
        """Write a fault; the side comes from the error when it has one."""
        side = Side(error.side) if isinstance(error, BotError) else None
        text = str(error) if isinstance(error, DuologueError) else f"{type(error).__name__}: {error}"
        if isinstance(error, BotError) and error.request_id:
            text = f"{text} (request {error.request_id})"
        self.write(Fault(cause=cause, side=side, error=type(error).__name__, message=text, fatal=fatal))
