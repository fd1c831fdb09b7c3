"""Vocabularies: the words that only one domain knows, for the engine's matchers, checks and pages.

A domain registers one :class:`Vocabulary` beside its tools. Without one, words are compared as any two people
would write them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from duologue.registry import Registry
from duologue.toolkit.rules import RULES_NAME

__all__ = ["VOCABULARIES", "Vocabulary"]


@dataclass(frozen=True, slots=True, eq=False)
class Vocabulary:
    """The words of one domain. Two vocabularies are equal only if they are the same object.

    Args:
        joined: two heard words, in lower case, to the one word that they are.
        spellings: a heard word, in lower case, to the word that it is.
        compounds: regular expressions of words that transcripts write apart, to the word that they are.
        labels: a lower-case word of a tool's name to how people write it.
        agent_lines: regular expressions of what only an agent of this domain says.
        device: what the caller operates with its tools; a caller quotes it, and a page calls it by this word.
    """

    joined: Mapping[tuple[str, str], str] = field(default_factory=dict)
    spellings: Mapping[str, str] = field(default_factory=dict)
    compounds: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    agent_lines: tuple[str, ...] = ()
    device: str = ""


PLAIN = Vocabulary()
"""The vocabulary of a domain that has no words of its own."""

VOCABULARIES: Registry[Vocabulary] = Registry("vocabulary")


def vocabulary_of(domain: str) -> Vocabulary:
    """Return the vocabulary of a loaded domain; ``PLAIN`` for one that registered none."""
    return VOCABULARIES.find(domain, RULES_NAME) or PLAIN
