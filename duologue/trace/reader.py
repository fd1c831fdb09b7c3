"""Reading traces of every schema version there has been."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from duologue.errors import TraceError
from duologue.records.event import EVENT_ADAPTER, EVENT_KINDS, TRACE_SCHEMA, Event, EventBase, OpenEvent, TraceHeader

E = TypeVar("E", bound=EventBase)

Migration = Callable[[dict[str, object]], dict[str, object]]
"""Turns one line of version *n* into version *n + 1*; header and events alike."""

MIGRATIONS: dict[int, Migration] = {}


@dataclass(frozen=True, slots=True)
class Trace:
    """A stored call. ``is_torn``: the last line was cut off by a crash and left out."""

    header: TraceHeader
    events: tuple[Event, ...]
    is_torn: bool = False

    def of(self, kind: type[E]) -> list[E]:
        """Return the events of one class, in order."""
        return [event for event in self.events if isinstance(event, kind)]

    def last(self, kind: type[E]) -> E | None:
        """Return the last event of one class, or None."""
        return next((event for event in reversed(self.events) if isinstance(event, kind)), None)


def load_header(path: Path) -> TraceHeader:
    """Read the first line only.

    Raises:
        TraceError: missing, unreadable, or of an unknown schema version.
    """
    try:
        with path.open("rb") as file:
            first = file.readline()
    except OSError as error:
        raise TraceError(f"{path}: cannot be read ({error.strerror or error})") from error
    return _header(path, first)[0]


def load_trace(path: Path) -> Trace:
    """Read a whole trace, migrating old versions. Events of kinds that are not known here come as ``OpenEvent``.

    Raises:
        TraceError: missing, unreadable, of an unknown schema version, or damaged before its last line.
    """
    try:
        text = path.read_bytes()
    except OSError as error:
        raise TraceError(f"{path}: cannot be read ({error.strerror or error})") from error
    whole, newline, rest = text.rpartition(b"\n")
    lines = whole.split(b"\n") if newline else [rest]
    header, version = _header(path, lines[0])
    events = tuple(_event(path, number, line, version) for number, line in enumerate(lines[1:], start=2))
    for expected, event in enumerate(events, start=1):
        if event.seq != expected:
            raise TraceError(f"{path}: line {expected + 1} has seq {event.seq}, expected {expected}")
    return Trace(header, events, is_torn=bool(newline and rest))


def _header(path: Path, line: bytes) -> tuple[TraceHeader, int]:
    value = _object(path, 1, line)
    version = value.get("schema_version")
    if value.get("event") != "header" or not isinstance(version, int):
        raise TraceError(f"{path}: line 1 is not a trace header")
    if not 1 <= version <= TRACE_SCHEMA:
        raise TraceError(f"{path}: schema version {version}; this program reads 1 to {TRACE_SCHEMA}")
    try:
        return TraceHeader.model_validate(_migrated(value, version)), version
    except ValidationError as error:
        raise TraceError(f"{path}: line 1: {_first(error)}") from error


def _event(path: Path, number: int, line: bytes, version: int) -> Event:
    value = _migrated(_object(path, number, line), version)
    kind = value.get("event")
    try:
        if isinstance(kind, str) and kind not in EVENT_KINDS:
            return OpenEvent.model_validate(value)
        return EVENT_ADAPTER.validate_python(value)
    except ValidationError as error:
        raise TraceError(f"{path}: line {number}: {_first(error)}") from error


def _object(path: Path, number: int, line: bytes) -> dict[str, object]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise TraceError(f"{path}: line {number} is not JSON ({error})") from error
    if not isinstance(value, dict):
        raise TraceError(f"{path}: line {number} is not a JSON object")
    return value


def _migrated(value: dict[str, object], version: int) -> dict[str, object]:
    for step in range(version, TRACE_SCHEMA):
        value = MIGRATIONS[step](value)
    return value


def _first(error: ValidationError) -> str:
    problem = error.errors()[0]
    return f"{'.'.join(str(part) for part in problem['loc'])}: {problem['msg']}"
