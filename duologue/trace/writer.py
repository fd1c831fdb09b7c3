"""Where the lines of a trace go: one header, then one line an event, each on disk before the next, or into memory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Protocol

from duologue.errors import TraceError
from duologue.records.event import Event, TraceHeader
from duologue.records.record import Record
from duologue.trace.reader import Trace


def canonical_line(record: Record) -> str:
    """Return a record as one line of JSON with sorted keys, so that equal records are equal bytes."""
    value = record.model_dump(mode="json")
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


class TraceSink(Protocol):
    """Takes the events of one trace, which come numbered, stamped and in order."""

    @property
    def header(self) -> TraceHeader:
        """The trace's first line."""
        ...

    def write(self, event: Event) -> None:
        """Take one event.

        Raises:
            TraceError: the trace is closed.
        """
        ...

    def close(self) -> None:
        """Take no more. Closing twice is harmless."""
        ...


class TraceWriter:
    """Appends events to one file.

    Raises:
        TraceError: the file exists already, or cannot be created.
    """

    def __init__(self, path: Path, header: TraceHeader) -> None:
        self.path = path
        self.header = header
        try:
            self._file = path.open("x", encoding="utf-8", newline="\n")
        except OSError as error:
            raise TraceError(f"{path}: cannot start a trace ({error.strerror or error})") from error
        self._write(canonical_line(header))

    def write(self, event: Event) -> None:
        """Write one event, as it is.

        Raises:
            TraceError: the trace is closed.
        """
        if self._file.closed:
            raise TraceError(f"{self.path}: the trace is closed")
        self._write(canonical_line(event))

    def close(self) -> None:
        """Close the file. Closing twice is harmless."""
        self._file.close()

    def _write(self, line: str) -> None:
        self._file.write(line + "\n")
        self._file.flush()


class TraceMemory:
    """Keeps events themselves: what an event holds must not change afterwards."""

    def __init__(self, header: TraceHeader) -> None:
        self.header = header
        self._events: list[Event] = []
        self._is_closed = False

    def write(self, event: Event) -> None:
        """Keep one event.

        Raises:
            TraceError: the trace is closed.
        """
        if self._is_closed:
            raise TraceError(f"{self.header.scenario.name}: the trace is closed")
        self._events.append(event)

    def close(self) -> None:
        """Take no more. Closing twice is harmless."""
        self._is_closed = True

    def trace(self) -> Trace:
        """Return what was kept."""
        return Trace(self.header, tuple(self._events))
