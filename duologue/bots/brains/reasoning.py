"""Telling a model's answer from its reasoning and its tool markup, however the text is split into chunks."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

HIDDEN_TAGS = ("think", "thinking", "thought", "reasoning")
"""Elements whose content is reasoning: never spoken, never kept in the context."""

CALL_TAG = "tool_call"
"""The element in which some models write a tool call when their server does not parse it."""

_OPENING = re.compile(rf"<({'|'.join((*HIDDEN_TAGS, CALL_TAG))})>", re.IGNORECASE)
_CLOSING_HIDDEN = re.compile(rf"</(?:{'|'.join(HIDDEN_TAGS)})>", re.IGNORECASE)
_TAGS = tuple(f"<{slash}{name}>" for name in (*HIDDEN_TAGS, CALL_TAG) for slash in ("", "/"))
_LONGEST = max(len(tag) for tag in _TAGS)


def starts_inside_reasoning(text: str) -> bool:
    """Return whether a whole reply closes a reasoning element that it did not open (the prompt's template did)."""
    closing, opening = _CLOSING_HIDDEN.search(text), _OPENING.search(text)
    return closing is not None and (opening is None or closing.start() < opening.start())


@dataclass(slots=True)
class AnswerFilter:
    """Passes on what is outside the elements above.

    Args:
        inside: the element the text begins in, or an empty text.
    """

    inside: str = ""
    hidden_chars: int = 0
    calls: list[str] = field(default_factory=list)
    _held: str = ""
    _captured: str = ""

    def feed(self, text: str) -> str:
        """Take the next chunk and return what is certainly part of the answer."""
        self._held += text
        out = ""
        while True:
            piece, is_open = self._step()
            out += piece
            if not is_open:
                return out

    def finish(self) -> str:
        """Return what was held back; an element that was never closed stays hidden."""
        rest, self._held = self._held, ""
        if not self.inside:
            return rest
        self._capture(rest)
        if self.inside == CALL_TAG:
            self.calls.append(self._captured)
        self.inside, self._captured = "", ""
        return ""

    def _step(self) -> tuple[str, bool]:
        """Consume up to the next tag; return the answer text before it, and whether there may be more."""
        if self.inside:
            found = re.search(f"</{self.inside}>", self._held, re.IGNORECASE)
            if found is None:
                keep = _tag_prefix(self._held)
                self._capture(self._held[: len(self._held) - keep])
                self._held = self._held[len(self._held) - keep :]
                return "", False
            self._capture(self._held[: found.start()])
            if self.inside == CALL_TAG:
                self.calls.append(self._captured)
            self._held, self.inside, self._captured = self._held[found.end() :], "", ""
            return "", True
        found = _OPENING.search(self._held)
        if found is None:
            keep = _tag_prefix(self._held)
            piece, self._held = self._held[: len(self._held) - keep], self._held[len(self._held) - keep :]
            return piece, False
        piece = self._held[: found.start()]
        self._held, self.inside = self._held[found.end() :], found.group(1).lower()
        return piece, True

    def _capture(self, text: str) -> None:
        if self.inside == CALL_TAG:
            self._captured += text
        else:
            self.hidden_chars += len(text)


def _tag_prefix(text: str) -> int:
    """Return how many characters at the end of ``text`` could be the beginning of a tag."""
    tail = text[-_LONGEST:].lower()
    for start in range(len(tail)):
        if tail[start] == "<" and any(tag.startswith(tail[start:]) for tag in _TAGS):
            return len(tail) - start
    return 0
