"""Requests and their answers as a state machine without I/O.

An id is issued once, waits for one answer, and is then spent. An answer that no open request asked for
satisfies nothing: it becomes a :class:`StrayAnswer`, which says what is wrong with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from duologue.protocol.messages import RtviMessage

ANSWER_TYPES = frozenset({"server-response", "error-response", "bot-ready"})
HANDSHAKE = "client-ready"


class Stray(StrEnum):
    """Why an answer satisfies no wait."""

    UNKNOWN = "unknown"
    LATE = "late"
    REPEATED = "repeated"
    MISMATCHED = "mismatched"


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer of an open request: its result, or the text of an error."""

    request_id: str
    result: Any = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class StrayAnswer:
    """An answer that satisfies nothing; ``kind`` is the request it was once for, empty when unknown."""

    stray: Stray
    request_id: str
    kind: str = ""

    @property
    def note(self) -> str:
        """One line for the trace."""
        what = f" to {self.kind}" if self.kind else ""
        return f"{self.stray} answer{what} (id {self.request_id[:80]!r}) dropped"


class RequestBook:
    """Issues ids ``<prefix>-<n>`` and matches answers to them."""

    def __init__(self) -> None:
        self._count = 0
        self._open: dict[str, str] = {}
        self._spent: dict[str, tuple[str, Stray]] = {}

    def issue(self, prefix: str) -> str:
        """Return a new id that waits for nothing (for messages without an answer)."""
        self._count += 1
        return f"{prefix}-{self._count}"

    def open(self, kind: str) -> str:
        """Return the id of a new request named ``kind`` that waits for one answer."""
        request_id = self.issue(kind)
        self._open[request_id] = kind
        return request_id

    def give_up(self, request_id: str) -> None:
        """Stop waiting; an answer that still comes is late."""
        kind = self._open.pop(request_id, None)
        if kind is not None:
            self._spent[request_id] = (kind, Stray.LATE)

    @property
    def pending(self) -> list[str]:
        """Ids that still wait, oldest first."""
        return list(self._open)

    def match(self, message: RtviMessage) -> Reply | StrayAnswer:
        """Match one answer (a message whose type is in ``ANSWER_TYPES``)."""
        kind = self._open.get(message.id)
        if kind is None:
            spent, stray = self._spent.get(message.id, ("", Stray.UNKNOWN))
            return StrayAnswer(stray, message.id, spent)
        data = message.data if isinstance(message.data, dict) else {}
        if message.type == "error-response":
            self._close(message.id, kind)
            return Reply(message.id, error=str(data.get("error", "no reason given"))[:2000])
        is_handshake = message.type == "bot-ready"
        named: object = HANDSHAKE if is_handshake else data.get("t", "")
        result: object = data if is_handshake else data.get("d")
        if named != kind:
            return StrayAnswer(Stray.MISMATCHED, message.id, kind)
        self._close(message.id, kind)
        return Reply(message.id, result)

    def _close(self, request_id: str, kind: str) -> None:
        del self._open[request_id]
        self._spent[request_id] = (kind, Stray.REPEATED)
