"""Accepted values: comparing an argument with all values that a parameter may take, type by type."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any


def accepts(arguments: Mapping[str, Any], name: str, values: Sequence[Any]) -> bool:
    """Return whether the argument equals one of ``values``; an absent one does when an empty text is among them."""
    if name not in arguments or arguments[name] is None:
        return any(isinstance(value, str) and not value.strip() for value in values) or None in values
    found = unify(arguments[name])
    return any(unify(value) == found for value in values)


def unify(value: Any) -> Any:
    """Return a form in which values that mean the same are equal.

    Texts are trimmed, case-folded and composed (NFC); numbers and texts of numbers are one; true and 1 are not.
    """
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, int | float):
        return ("number", float(value))
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        return ("object", {str(key): unify(item) for key, item in value.items()})
    if isinstance(value, Sequence):
        return ("array", [unify(item) for item in value])
    return ("null", None)


def _text(value: str) -> tuple[str, Any]:
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", value).strip().casefold())
    if folded in ("true", "false"):
        return ("bool", folded == "true")
    if folded and not any(letter.isalpha() or letter == "_" for letter in folded):
        try:
            return ("number", float(folded))
        except ValueError:
            pass
    return ("text", folded)
