"""What a brain gives back in one turn: words, tool calls, or nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class BrainCall:
    """One tool call that a brain wants to make."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class BrainReply:
    """One reply: ``text`` is spoken first, then ``calls`` are made. Both empty means silence."""

    text: str = ""
    calls: tuple[BrainCall, ...] = ()
