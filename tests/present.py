"""For tests that look at what may be missing: here it has to be there."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


def present(value: T | None) -> T:
    """Return a value that is not None; fail without one."""
    assert value is not None
    return value
