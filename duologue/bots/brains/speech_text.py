"""A model's written text as something that can be spoken: no markdown, no emoji, sentence by sentence."""

from __future__ import annotations

import re
from dataclasses import dataclass

_EMOJI = re.compile(
    "[\U0001f000-\U0001faff\U0001f1e6-\U0001f1ff\u2300-\u23ff\u2460-\u24ff\u25a0-\u27bf\u2b00-\u2bff"
    "\ufe00-\ufe0f\u200b-\u200d\u2060\u20e3\U000e0020-\U000e007f]+"
)
_ARROW = re.compile(r"\s*(?:[\u2190-\u21ff\u27f0-\u27ff\u2900-\u297f]|[-=]+>)\s*")
_IMAGE_OR_LINK = re.compile(r"!?\[([^\]]*)\]\((?:[^()\s]|\([^()]*\))*(?:\s+\"[^\"]*\")?\)")
_ELEMENT = re.compile(r"</?[A-Za-z][^<>]{0,60}>")
_FENCE = re.compile(r"^\s*(?:```|~~~)\S*\s*$")
_RULE = re.compile(r"^\s*(?:[-*_=]\s*){3,}$")
_TABLE_RULE = re.compile(r"^\s*\|?(?:\s*:?-{2,}:?\s*\|)+\s*(?:\s*:?-{2,}:?\s*)?$")
_LINE_MARK = re.compile(r"^\s*(?:>\s*)*(?:#{1,6}\s+|[-*+•]\s+(?:\[[ xX]\]\s+)?)?")
_STRONG = re.compile(r"\*{2,}|_{2,}(?=\w)|(?<=\w)_{2,}|~~|`+")
_EMPHASIS = re.compile(r"(?<![\w*])\*(?=\S)|(?<=\S)\*(?![\w*])|(?<!\w)_(?=\w)|(?<=[\w.!?,;:])_(?!\w)")
_SPACE_BEFORE_MARK = re.compile(r"\s+([,.;:!?…])")
_SENTENCE_END = re.compile(r"[.!?…][\"'”’)*_]*(?=\s)")
_ONLY_NUMBER = re.compile(r"^\s*\W*\d+[.)]$")
_ENDS_WELL = re.compile(r"[.!?…,;:–—-][\"'”’)]*$")


def speakable(line: str) -> str:
    """Return one line, or a part of it, without markup and emoji; empty when nothing is left to say."""
    if _FENCE.match(line) or _RULE.match(line) or _TABLE_RULE.match(line):
        return ""
    text = _LINE_MARK.sub("", line, count=1)
    text = _IMAGE_OR_LINK.sub(r"\1", text)
    text = _ARROW.sub(", ", text)
    text = _EMOJI.sub(" ", _ELEMENT.sub(" ", text))
    text = _EMPHASIS.sub("", _STRONG.sub("", text))
    if line.lstrip().startswith("|"):
        text = ", ".join(cell.strip() for cell in text.strip().strip("|").split("|") if cell.strip())
    text = _SPACE_BEFORE_MARK.sub(r"\1", " ".join(text.split()))
    return text if any(character.isalnum() for character in text) else ""


@dataclass(slots=True)
class SpeechText:
    """Cuts streamed text into speakable sentences. A line without a closing mark gets a full stop."""

    _held: str = ""

    def feed(self, text: str) -> list[str]:
        """Take the next chunk and return the sentences that are complete."""
        self._held += text
        pieces = []
        while (end := self._boundary()) is not None:
            piece, self._held = self._held[:end], self._held[end:]
            pieces.append(_closed(speakable(piece)) if self._held.startswith("\n") else speakable(piece))
            self._held = self._held.lstrip()
        return [piece for piece in pieces if piece]

    def finish(self) -> list[str]:
        """Return what is left, as the last sentence."""
        rest, self._held = speakable(self._held), ""
        return [rest] if rest else []

    def _boundary(self) -> int | None:
        """Return where the first sentence or line ends."""
        newline = self._held.find("\n")
        line = self._held if newline < 0 else self._held[:newline]
        for found in _SENTENCE_END.finditer(line):
            if not _ONLY_NUMBER.match(line[: found.end()]):
                return found.end()
        return None if newline < 0 else newline


def _closed(line: str) -> str:
    return f"{line}." if line and not _ENDS_WELL.search(line) else line
