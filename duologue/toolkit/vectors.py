"""Conformance vectors: how a domain replays recorded facts against its own rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from duologue.registry import Registry

__all__ = ["VECTOR_FORMATS", "VectorFormat"]


@dataclass(frozen=True, slots=True)
class VectorFormat:
    """One kind of vector record.

    Args:
        recognises: whether a JSON value is a record of this kind.
        replay: replays a record and returns one line for each difference, none when all agrees.
        cases: splits a record that holds many cases into (place, case), so that each is counted; ``replay`` then
            gets the cases.
    """

    recognises: Callable[[object], bool]
    replay: Callable[[Any], list[str]]
    cases: Callable[[Any], Iterable[tuple[str, object]]] | None = None


VECTOR_FORMATS: Registry[VectorFormat] = Registry("vector format")
