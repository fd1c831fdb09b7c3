"""Values of flags: numbers within bounds, refused with words that name the bounds."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable


def number(low: float, high: float = math.inf, *, above: bool = False) -> Callable[[str], float]:
    """Return a parser of finite numbers from ``low`` (``above``: beyond it) to ``high``."""
    bounds = f"a number {'above' if above else 'from'} {low:g}" + ("" if math.isinf(high) else f" to {high:g}")

    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or value < low or value > high or (above and value == low):
            raise argparse.ArgumentTypeError(f"{text!r} is not {bounds}")
        return value

    return parse


def whole(low: int) -> Callable[[str], int]:
    """Return a parser of whole numbers from ``low``."""

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = low - 1
        if value < low:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {low}")
        return value

    return parse
