"""Exact typed comparison of JSON values, and optimal assignment of items to items."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

_PUNCTUATION = re.compile(r"[^\w\s]|_")


@dataclass(frozen=True, slots=True)
class MatchRules:
    """How texts are compared; by default to the character."""

    ignore_capitalization: bool = False
    ignore_punctuation: bool = False
    clean_text: bool = False


EXACT = MatchRules()


def values_match(expected: object, found: object, rules: MatchRules = EXACT) -> bool:
    """Return whether two JSON values are the same value of the same kind.

    Numbers equal numbers (1 and 1.0), texts equal texts, true and false equal only themselves, null only
    null. Objects have the same keys. Lists have the same items in any order.
    """
    if isinstance(expected, bool) or isinstance(found, bool):
        return isinstance(expected, bool) and isinstance(found, bool) and expected == found
    if isinstance(expected, int | float):
        return isinstance(found, int | float) and expected == found
    if isinstance(expected, str):
        return isinstance(found, str) and normalized_text(expected, rules) == normalized_text(found, rules)
    if isinstance(expected, dict):
        return (
            isinstance(found, dict)
            and expected.keys() == found.keys()
            and all(values_match(value, found[key], rules) for key, value in expected.items())
        )
    if isinstance(expected, list | tuple):
        if not isinstance(found, list | tuple) or len(expected) != len(found):
            return False
        return None not in assign(len(expected), found, lambda row, item: values_match(expected[row], item, rules))
    return expected is None and found is None


def normalized_text(text: str, rules: MatchRules) -> str:
    """Return ``text`` as the rules compare it.

    Punctuation inside a number and its sign stay, so that "9.99" never becomes "999".
    """
    if rules.clean_text:
        text = " ".join(unicodedata.normalize("NFKC", text).split())
    if rules.ignore_capitalization:
        text = text.casefold()
    if rules.ignore_punctuation:
        text = _PUNCTUATION.sub(lambda match: _kept(match), text).strip()
    return text


def _kept(match: re.Match[str]) -> str:
    text, at = match.string, match.start()
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    in_number = before.isdigit() and after.isdigit()
    is_sign = match.group() in "+-−" and after.isdigit() and not before.isalnum()
    return match.group() if in_number or is_sign else ""


def assign(rows: int, items: Sequence[object], fits: Callable[[int, Any], bool]) -> list[int | None]:
    """Give each row an item of its own so that as many rows as possible have one.

    Returns for each row the index of its item, or None. Earlier items are preferred.
    """
    options = [[index for index, item in enumerate(items) if fits(row, item)] for row in range(rows)]
    taken: dict[int, int] = {}

    def place(row: int, tried: set[int]) -> bool:
        for index in options[row]:
            if index in tried:
                continue
            tried.add(index)
            if index not in taken or place(taken[index], tried):
                taken[index] = row
                return True
        return False

    for row in range(rows):
        place(row, set())
    placed: dict[int, int] = {row: index for index, row in taken.items()}
    return [placed.get(row) for row in range(rows)]
