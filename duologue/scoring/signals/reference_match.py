"""The comparison rules of the reference harness, for people who need its numbers. Known to be loose."""

from __future__ import annotations

import math
import string
from typing import Any

from duologue.scoring.signals.matching import MatchRules

_REMOVE_PUNCTUATION = str.maketrans("", "", string.punctuation)


def reference_match(reference: object, prediction: object, rules: MatchRules, *, same_length: bool) -> bool:
    """Return whether the prediction holds the reference, as the reference harness decides it.

    ``same_length`` compares the lengths of the two outer lists only, after both were wrapped.
    """
    expected, found = _as_list(reference), _as_list(prediction)
    if len(expected) == 1 and len(found) > 1:
        found = found[-1:]
    if same_length and len(expected) != len(found):
        return False
    return _loosely(expected, found, rules)


def _as_list(value: object) -> Any:
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        value = value[0]
    return [value] if isinstance(value, dict) else value


def _loosely(expected: object, found: object, rules: MatchRules) -> bool:
    if isinstance(expected, dict):
        return isinstance(found, dict) and all(
            key in found and _loosely(value, found[key], rules) for key, value in expected.items()
        )
    if isinstance(expected, list):
        return isinstance(found, list) and _first_fit(expected, found, rules)
    if isinstance(found, list | dict):
        return False
    return scalars_close(expected, found, rules)


def _first_fit(expected: list[object], found: list[object], rules: MatchRules) -> bool:
    unused = list(found)
    for item in expected:
        index = next((at for at, other in enumerate(unused) if _loosely(item, other, rules)), None)
        if index is None:
            return False
        del unused[index]
    return True


def scalars_close(expected: Any, found: Any, rules: MatchRules) -> bool:
    """Return whether two scalars are near as numbers, or else equal as text."""
    try:
        left, right = float(expected), float(found)
    except (TypeError, ValueError):
        return _text(expected, rules) == _text(found, rules)
    return math.isclose(left, right, rel_tol=0.0, abs_tol=1e-8 + 1e-5 * abs(right)) or left == right


def _text(value: object, rules: MatchRules) -> str:
    text = str(value)
    if rules.ignore_capitalization:
        text = text.lower()
    if rules.ignore_punctuation:
        text = text.translate(_REMOVE_PUNCTUATION)
    if rules.clean_text:
        text = " ".join(text.split())
    return text
