"""What a simulated caller was told about itself, in a form that its words can be checked against.

A domain may register a function of the caller's facts; without one, facts are recognized by their keys.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from duologue.registry import Registry
from duologue.toolkit.rules import RULES_NAME

__all__ = ["CALLER_FACTS", "CallerFact", "CallerFacts", "FactKind"]

MIN_CODE_DIGITS = 4  # shorter numbers are counts and ages, which anybody may say


class FactKind(StrEnum):
    """How a fact is found in speech: by its digits, as a name, or as a place."""

    NUMBER = "number"
    NAME = "name"
    PLACE = "place"


@dataclass(frozen=True, slots=True)
class CallerFact:
    """One checkable fact.

    Args:
        key: what it is called, for reports; its words announce it in speech (``zip_code``: "my zip code is").
        kind: how it is found.
        value: what the caller was told.
        also: other wordings of the same.
        against: words that contradict a place when the caller says that it is there ("at home").
    """

    key: str
    kind: FactKind
    value: str
    also: tuple[str, ...] = ()
    against: tuple[str, ...] = ()


CallerFacts = Callable[[Mapping[str, Any]], tuple[CallerFact, ...]]
"""The ``facts`` of the user's side to what can be checked."""

CALLER_FACTS: Registry[CallerFacts] = Registry("caller facts")

_KINDS = {
    FactKind.NUMBER: {"phone", "number", "code", "zip", "pin", "account", "id"},
    FactKind.NAME: {"name"},
    FactKind.PLACE: {"location", "country"},
}


def checkable_facts(domain: str, facts: Mapping[str, Any]) -> tuple[CallerFact, ...]:
    """Return what can be checked of a caller's facts in ``domain``."""
    own = CALLER_FACTS.find(domain, RULES_NAME)
    return own(facts) if own is not None else tuple(derive_facts(facts))


def derive_facts(facts: Mapping[str, Any]) -> Iterator[CallerFact]:
    """Yield the facts whose keys say what they are; values without text are left out."""
    for key, value in facts.items():
        words = set(re.findall(r"[a-z]+", key.lower()))
        for kind, known in _KINDS.items():
            if words & known and isinstance(value, str | int) and not isinstance(value, bool) and str(value):
                if kind is FactKind.NUMBER and len(re.findall(r"\d", str(value))) < MIN_CODE_DIGITS:
                    continue
                yield CallerFact(key, kind, str(value))
                break
