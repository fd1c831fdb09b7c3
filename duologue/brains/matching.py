"""Finding which of some known wordings was meant, in words that a speech recognizer may have garbled."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Generic, TypeVar

from rapidfuzz import fuzz

from duologue.toolkit.vocabulary import Vocabulary

Key = TypeVar("Key", bound=Hashable)

_DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_SPELLINGS = {"hi": "hello", "hey": "hello", "okay": "ok", "im": "i am", "cannot": "can not"}


@dataclass(frozen=True, slots=True)
class Match(Generic[Key]):
    """The best key for a heard text: its score and its lead over the next key, both 0 to 100."""

    key: Key
    score: float
    lead: float

    def is_clear(self, threshold: float, margin: float) -> bool:
        """Whether the match is good enough and far enough ahead."""
        return self.score >= threshold and self.lead >= margin


@lru_cache(maxsize=8192)
def tokens(text: str, vocabulary: Vocabulary) -> tuple[str, ...]:
    """Return the comparable words of ``text``: lower case, digits as words, spelled letters joined."""
    lowered = text.lower().replace("'", "").replace("’", "")
    lowered = re.sub(r"(?<=\d),(?=\d{3}\b)", "", lowered)
    lowered = re.sub(r"\b([a-z])\.(?=[a-z]\b)", r"\1", lowered)
    words: list[str] = []
    for word in re.findall(r"[a-z]+|\d", lowered):
        words.extend(_spelled(word, vocabulary).split() if word.isalpha() else [_DIGITS[int(word)]])
    return tuple(_join_letters(_join_pairs(words, vocabulary)))


def _spelled(word: str, vocabulary: Vocabulary) -> str:
    return vocabulary.spellings.get(word) or _SPELLINGS.get(word, word)


def _join_pairs(words: list[str], vocabulary: Vocabulary) -> list[str]:
    joined: list[str] = []
    for word in words:
        if joined and (joined[-1], word) in vocabulary.joined:
            joined[-1] = vocabulary.joined[joined[-1], word]
        else:
            joined.append(word)
    return joined


def _join_letters(words: list[str]) -> list[str]:
    joined: list[str] = []
    run = False
    for word in words:
        is_letter = len(word) == 1 and word not in ("a", "i")
        if is_letter and run:
            joined[-1] += word
        else:
            joined.append(word)
        run = is_letter
    return joined


@lru_cache(maxsize=65536)
def similarity(heard: str, wording: str, vocabulary: Vocabulary) -> float:
    """Return how well ``wording`` is found somewhere in ``heard``, 0 to 100.

    The wording is compared with every run of about as many words, so that it is found among other sentences.
    """
    words, wanted = tokens(heard, vocabulary), tokens(wording, vocabulary)
    if not words or not wanted:
        return 0.0
    target = " ".join(wanted)
    best = 0.0
    slack = 1 if len(wanted) < 6 else 2
    for size in range(max(1, len(wanted) - slack), len(wanted) + slack + 1):
        for start in range(max(1, len(words) - size + 1)):
            window = " ".join(words[start : start + size])
            best = max(best, fuzz.ratio(window, target, score_cutoff=best))
    return best


def contains(heard: str, wording: str, vocabulary: Vocabulary) -> bool:
    """Whether the words of ``wording`` stand in ``heard`` in full and in order."""
    return f" {' '.join(tokens(wording, vocabulary))} " in f" {' '.join(tokens(heard, vocabulary))} "


def best_match(heard: str, wordings: Mapping[Key, Iterable[str]], vocabulary: Vocabulary) -> Match[Key] | None:
    """Return the key whose wordings fit ``heard`` best, or None when there is nothing to compare.

    A wording that is part of another one's words ("open the door" of "open the door lock") is no rival to it.
    """
    found = [_best_wording(heard, key, known, vocabulary) for key, known in wordings.items()]
    found.sort(key=lambda fit: (fit.score, len(tokens(fit.wording, vocabulary))), reverse=True)
    if not found or found[0].score <= 0.0:
        return None
    best = found[0]
    rivals = (fit.score for fit in found[1:] if not _is_part(fit.wording, best.wording, vocabulary))
    return Match(best.key, best.score, best.score - next(rivals, 0.0))


def _is_part(shorter: str, longer: str, vocabulary: Vocabulary) -> bool:
    is_same = tokens(shorter, vocabulary) == tokens(longer, vocabulary)
    return not is_same and contains(longer, shorter, vocabulary)


@dataclass(frozen=True, slots=True)
class _Fit(Generic[Key]):
    key: Key
    score: float
    wording: str


def _best_wording(heard: str, key: Key, known: Iterable[str], vocabulary: Vocabulary) -> _Fit[Key]:
    score, wording = 0.0, ""
    for rival in known:
        found = similarity(heard, rival, vocabulary)
        if found > score or not wording:
            score, wording = found, rival
    return _Fit(key, score, wording)
