"""Text that somebody else wrote, made fit for a terminal or a log: it moves no cursor and begins no line."""

from __future__ import annotations

import re

_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """Return ``text`` with control characters, direction marks and lone surrogates written out; line ends stay."""
    return _CONTROL.sub(lambda match: match.group().encode("unicode_escape").decode("ascii"), text)


def one_line(text: str) -> str:
    """Return ``text`` on one line: white space becomes single spaces, the rest as in :func:`printable`."""
    return printable(" ".join(text.split()))
