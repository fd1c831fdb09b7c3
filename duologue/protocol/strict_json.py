"""JSON that somebody else wrote: only what every reader of our files can take."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

MAX_DEPTH = 100  # deeper than any real value, and far from Python's limit of recursion


def parse_json(text: str) -> Any:
    """Return the value of strict JSON: finite numbers only, bounded depth, lone surrogates replaced.

    Raises:
        ValueError: anything else.
    """
    try:
        value = json.loads(text, parse_constant=_refuse_constant, parse_float=_finite)
        if "\\ud" in text.lower():
            value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except RecursionError as error:
        raise ValueError("JSON that is nested too deeply") from error
    except ValueError as error:
        raise ValueError(f"text that is not JSON: {error}") from error
    _check_depth(value)
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:40]} is too large for a number")
    return value


def _check_depth(value: object) -> None:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in _children(node)]
        if not level:
            return
    raise ValueError("JSON that is nested too deeply")


def _children(node: object) -> list[object]:
    if isinstance(node, dict):
        return [child for child in node.values() if isinstance(child, dict | list)]
    if isinstance(node, list):
        return [child for child in node if isinstance(child, dict | list)]
    return []
