"""Numbers and lists as one says them."""

from __future__ import annotations

from typing import Any

DIGITS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
_TEENS = ["ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"]
_TENS = ["_", "_", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]


def spelled(text: str, *, slowly: bool = False) -> str:
    """Return the digits of ``text`` one by one, in the groups that its hyphens make; slowly: a sentence a group."""
    groups = [[DIGITS[int(char)] for char in group if char.isdigit()] for group in text.split("-")]
    if slowly:
        return ". ".join(", ".join(group).capitalize() for group in groups)
    return ", ".join(" ".join(group) for group in groups)


def whole(number: int) -> str:
    """Return a whole number from 0 to 999999 in words."""
    if number < 10:
        return DIGITS[number]
    if number < 20:
        return _TEENS[number - 10]
    if number < 100:
        rest = number % 10
        return _TENS[number // 10] + (f" {DIGITS[rest]}" if rest else "")
    size, name = (100, "hundred") if number < 1000 else (1000, "thousand")
    rest = number % size
    return f"{whole(number // size)} {name}" + (f" {whole(rest)}" if rest else "")


def amount(value: Any) -> str:
    """Return a number in words, decimals digit by digit; a text that holds a number will do."""
    number = float(value)
    text = f"{abs(number):.2f}".rstrip("0").rstrip(".")
    integral, _, decimals = text.partition(".")
    words = whole(int(integral))
    if decimals:
        words += " point " + " ".join(DIGITS[int(digit)] for digit in decimals)
    return f"minus {words}" if number < 0 else words


def joined(items: list[str]) -> str:
    """Return ``a, b and c``; empty for nothing."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"
