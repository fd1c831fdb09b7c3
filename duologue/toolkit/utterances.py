"""What was said, cut into utterances, beside the tool calls and endings between them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from duologue.records.action import Side
from duologue.records.event import BotSpeaking, Event, ExitRequested, HeardText, SpokenText, ToolCalled, ToolReturned

__all__ = ["Deed", "Utterance"]

MAX_PAUSE_MS = 3000
"""Words of one side further apart than this are two utterances."""

_SPACE_BEFORE_MARK = re.compile(r"\s+([,.;:!?…])")


@dataclass(slots=True)
class Utterance:
    """Words of one side without words of the other between them; ``seqs`` are the events that hold them."""

    side: Side
    end_ms: int
    pieces: list[str] = field(default_factory=list)
    seqs: list[int] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The words, joined."""
        return join_words(self.pieces)


Deed = Utterance | HeardText | ToolCalled | ToolReturned | ExitRequested


def join_words(pieces: Sequence[str]) -> str:
    """Join words or sentences with exactly one space, and none before a closing mark."""
    return _SPACE_BEFORE_MARK.sub(r"\1", " ".join(" ".join(pieces).split()))


def read_deeds(events: Sequence[Event]) -> list[Deed]:
    """Return utterances, heard texts, tool calls, their results and requests to end, by when each began.

    Words that a side speaks while the other one has not stopped do not end the other's utterance.
    """
    deeds: list[Deed] = []
    current: dict[Side, Utterance | None] = dict.fromkeys(Side)
    speaking = dict.fromkeys(Side, False)
    for event in events:
        if isinstance(event, BotSpeaking):
            speaking[event.side] = event.speaking
        elif isinstance(event, SpokenText):
            other = event.side.other
            if not speaking[other]:
                current[other] = None
            utterance = current[event.side]
            if utterance is None or event.t_ms - utterance.end_ms > MAX_PAUSE_MS:
                utterance = Utterance(event.side, event.t_ms)
                current[event.side] = utterance
                deeds.append(utterance)
            utterance.pieces.append(event.text)
            utterance.seqs.append(event.seq)
            utterance.end_ms = event.t_ms
        elif isinstance(event, HeardText | ToolCalled | ToolReturned | ExitRequested):
            if isinstance(event, ToolCalled):
                current[event.side] = None
            deeds.append(event)
    return deeds
