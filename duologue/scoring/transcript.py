"""Putting the words that were played into the turns in which they were heard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from duologue.records.action import Side
from duologue.records.event import SpokenText
from duologue.records.result import UnplacedText
from duologue.toolkit.utterances import join_words

CUT_MARK = "—"
"""Ends the text of a turn that an interruption cut."""

MAX_WORD_DISTANCE_MS = 3000
"""How far from a turn its words may be reported."""


@dataclass(slots=True)
class Span:
    """A turn under construction: one side, from start to end, with its pieces of text."""

    side: Side
    start_ms: int
    end_ms: int
    pieces: list[str] = field(default_factory=list)
    cut: bool = False

    def distance_ms(self, t_ms: int) -> int:
        """Return how far ``t_ms`` lies outside the span; 0 inside."""
        return max(self.start_ms - t_ms, t_ms - self.end_ms, 0)

    @property
    def text(self) -> str:
        """The words, joined; with the cut mark when the rest was dropped."""
        words = join_words(self.pieces)
        return f"{words} {CUT_MARK}".strip() if self.cut else words


def place_words(spans: Sequence[Span], words: Sequence[SpokenText]) -> list[UnplacedText]:
    """Add each piece of text to the nearest span of its side; return what lies too far from any."""
    unplaced = []
    for word in words:
        own = [span for span in spans if span.side is word.side]
        nearest = min(own, key=lambda span: span.distance_ms(word.t_ms), default=None)
        if nearest is None or nearest.distance_ms(word.t_ms) > MAX_WORD_DISTANCE_MS:
            unplaced.append(UnplacedText(side=word.side, t_ms=word.t_ms, text=word.text))
        else:
            nearest.pieces.append(word.text)
    return unplaced
