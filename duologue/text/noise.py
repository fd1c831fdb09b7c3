"""What a small speech recognizer and a hasty partner do to words, seeded."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_DIGITS = dict(
    zip(("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"), "0123456789", strict=True)
)


@dataclass(frozen=True, slots=True)
class Noise:
    """How often words suffer, each a probability per word unless stated.

    Args:
        letter: one letter of the word is replaced, lost or doubled.
        drop: the word is lost.
        punctuation: a mark is lost.
        cut: the other side cuts in (per utterance); the rest is not heard, and not kept by the speaker.
        split: the utterance arrives in two pieces (per utterance), answered only after the second.
        digits: spoken digits are written as figures in one group (per utterance).
    """

    letter: float = 0.0
    drop: float = 0.0
    punctuation: float = 0.0
    cut: float = 0.0
    split: float = 0.0
    digits: float = 0.0


CLEAN = Noise()
MILD = Noise(letter=0.05, drop=0.02, punctuation=0.5, split=0.05, digits=0.9)


def garble(text: str, noise: Noise, chance: random.Random) -> str:
    """Return ``text`` as it is heard through ``noise``."""
    if noise.digits and chance.random() < noise.digits:
        text = _figures(text)
    words = [_word(word, noise, chance) for word in text.split()]
    return " ".join(word for word in words if word)


def _word(word: str, noise: Noise, chance: random.Random) -> str:
    if noise.drop and chance.random() < noise.drop:
        return ""
    if noise.punctuation and chance.random() < noise.punctuation:
        word = word.strip(".,?!")
    if noise.letter and len(word) > 2 and chance.random() < noise.letter:
        place = chance.randrange(len(word))
        middle = chance.choice(("", chance.choice(_LETTERS), word[place] * 2))
        word = word[:place] + middle + word[place + 1 :]
    return word


def _figures(text: str) -> str:
    word = "|".join(_DIGITS)
    run = re.compile(rf"\b(?:{word})\b(?:[,. ]+\b(?:{word})\b){{2,}}", re.IGNORECASE)
    return run.sub(lambda match: "".join(_DIGITS[part] for part in re.findall(word, match.group().lower())), text)
