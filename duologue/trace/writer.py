"""Writing a trace: one header line, then one line an event, each on disk before the next."""

from __future__ import annotations

import json
from pathlib import Path

from duologue.errors import TraceError
from duologue.records.event import Event, TraceHeader
from duologue.records.record import Record


def canonical_line(record: Record) -> str:
    """Return a record as one line of JSON with sorted keys, so that equal records are equal bytes."""
    value = record.model_dump(mode="json")
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


class TraceWriter:
    """Appends events to one file and numbers them from 1.

    Raises:
        TraceError: the file exists already, or cannot be created.
    """

    def __init__(self, path: Path, header: TraceHeader) -> None:
        self.path = path
        self.header = header
        self._seq = 0
        try:
            self._file = path.open("x", encoding="utf-8", newline="\n")
        except OSError as error:
            raise TraceError(f"{path}: cannot start a trace ({error.strerror or error})") from error
        self._write(canonical_line(header))

    def append(self, event: Event, *, t_ms: int) -> Event:
        """Write ``event`` at media time ``t_ms`` and return it with its number.

        Raises:
            TraceError: the trace is closed.
        """
        if self._file.closed:
            raise TraceError(f"{self.path}: the trace is closed")
        numbered = event.model_copy(update={"seq": self._seq + 1, "t_ms": t_ms})
        self._write(canonical_line(numbered))
        self._seq += 1
        return numbered

    def close(self) -> None:
        """Close the file. Closing twice is harmless."""
        self._file.close()

    def _write(self, line: str) -> None:
        self._file.write(line + "\n")
        self._file.flush()
