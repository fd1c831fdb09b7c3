"""Digits in what somebody says: figures and words alike. Amounts and dates are left out."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

_DIGITS = {
    word: str(digit)
    for digit, word in enumerate(("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"))
}
_TEENS = {
    word: str(10 + number)
    for number, word in enumerate(
        (
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
        )
    )
}
_TENS = {
    word: str(number)
    for number, word in enumerate(("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"), 2)
}
_TIMES = {"double": 2, "triple": 3}
_ZEROS = {"oh", "o"}
_AMOUNTS = {"hundred", "thousand", "million", "point", "percent", "dollars", "dollar", "euros", "cents"}
_TOKEN = re.compile(
    r"(?<![\d-])\d{4}-\d\d-\d\d(?![\d-])|\d{1,3}(?:,\d{3})+(?!\d)|(?<!\d\.)\d+\.\d+(?!\d|\.\d)|\d+|[a-z]+(?:'[a-z]+)?|[$€£%/:]"
)


@dataclass(frozen=True, slots=True)
class DigitRun:
    """Digits said one after the other; ``before`` is what was said ahead of them in the same text."""

    digits: str
    before: str
    after: str


@lru_cache(maxsize=4096)  # each check of a caller reads the same turns
def digit_runs(text: str) -> tuple[DigitRun, ...]:
    """Return the runs of digits in ``text``, in order.

    Commas, full stops, hyphens and spaces do not end a run, as numbers are dictated in groups. Words of an amount
    ("two hundred", "three point five", "5 dollars") do, and what belongs to the amount is dropped.
    """
    runs: list[DigitRun] = []
    matches = list(_TOKEN.finditer(text.lower()))
    start, digits, index = 0, "", 0

    def close(end: int) -> None:
        nonlocal digits
        if digits:
            runs.append(DigitRun(digits, text[:start], text[end:]))
        digits = ""

    while index < len(matches):
        words = [match.group() for match in matches[index : index + 3]]
        found, used = _read(words, has_begun=bool(digits))
        if found:
            start = start if digits else matches[index].start()
            digits += found
        elif words[0] in _AMOUNTS or words[0] in "$€£%":
            digits = ""
        else:
            close(matches[index].start())
        if words[0] == "point":
            used = _decimals(matches, index)
        index += used
    close(len(text))
    return tuple(runs)


def figures(text: str) -> list[str]:
    """Return every number written or spoken in ``text`` as digits alone: known numbers are found by these."""
    written = [re.sub(r"\D", "", match) for match in re.findall(r"\d[\d\s().-]*\d|\d", text)]
    return [*written, *(run.digits for run in digit_runs(text))]


def _read(words: list[str], *, has_begun: bool) -> tuple[str, int]:
    """Return the digits at the start of ``words``, and how many words they take (at least 1)."""
    first, following = words[0], words[1] if len(words) > 1 else ""
    if first.isdigit():
        return first, 1
    if first in _DIGITS or first in _TEENS:
        return _DIGITS.get(first) or _TEENS[first], 1
    if first in _TENS:
        return (_TENS[first] + _DIGITS[following], 2) if _DIGITS.get(following, "0") != "0" else (_TENS[first] + "0", 1)
    if first in _TIMES and (following in _DIGITS or (following.isdigit() and len(following) == 1)):
        return _DIGITS.get(following, following) * _TIMES[first], 2
    if first in _ZEROS and has_begun and (following in _DIGITS or following in _ZEROS or following.isdigit()):
        return "0", 1
    return "", 1


def _decimals(matches: list[re.Match[str]], index: int) -> int:
    """Return how many tokens the decimals after a ``point`` take, the point included."""
    used = 1
    while index + used < len(matches) and _read([matches[index + used].group()], has_begun=True)[0]:
        used += 1
    return used
