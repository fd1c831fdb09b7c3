"""What counts as a judge's reply. Anything else is an error, never a score."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from duologue.errors import JudgeError

SCORE, REASON = "score", "reason"
VERDICTS, INDEX, PASSED = "nl_assertion_verdicts", "index", "passed"

_THOUGHTS = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_FENCE = re.compile(r"```[A-Za-z]*[ \t]*\n(.*?)```", re.DOTALL)
_MAX_CHARS = 1_000_000  # longer text is not searched: reading it takes time that grows faster than its length
_MAX_STARTS = 1000
"""How many opening braces of a long text are tried as the start of an object."""


@dataclass(frozen=True, slots=True)
class ClaimReply:
    """The verdict on one statement, in the order in which statements were given."""

    passed: bool
    reason: str


@dataclass(frozen=True, slots=True)
class ScoreReply:
    """A valid reply: ``score`` from 0 to 1, its reason, and one verdict for each statement."""

    score: float
    reason: str
    claims: tuple[ClaimReply, ...] = ()


def parse_reply(text: str, statements: int) -> ScoreReply:
    """Return the reply in ``text``: plain JSON, JSON in a fence, or the one valid object in prose.

    Args:
        text: what the model wrote; a leading ``<think>`` block is skipped.
        statements: how many statements it was asked about; 0 for none.

    Raises:
        JudgeError: nothing in the text is a complete reply, or two different objects are (retryable).
    """
    if len(text) > _MAX_CHARS:
        raise _bad(f"the reply has {len(text)} characters")
    text = _THOUGHTS.sub("", text).strip()
    whole = _object(text)
    if whole is not None:
        return validate_reply(whole, statements)
    found, problem = _valid_objects(text, statements)
    if len(found) > 1:
        raise _bad(f"the reply holds {len(found)} different verdicts")
    if not found:
        raise _bad(problem or f"the reply holds no JSON object: {_shown(text)}")
    return found[0]


def require_object(text: str) -> str:
    """Return ``text`` unchanged when it holds a JSON object; for questions whose reader is elsewhere.

    Raises:
        JudgeError: it holds none (retryable).
    """
    if len(text) > _MAX_CHARS:
        raise _bad(f"the reply has {len(text)} characters")
    stripped = _THOUGHTS.sub("", text).strip()
    if _object(stripped) is None and not any(_fenced(stripped)) and not any(_anywhere(stripped)):
        raise _bad(f"the reply holds no JSON object: {_shown(text)}")
    return text


def validate_reply(value: dict[str, object], statements: int) -> ScoreReply:
    """Return ``value`` as a reply; other keys than those asked for are ignored.

    Raises:
        JudgeError: a field is missing, of another type, or out of range; it is named (retryable).
    """
    score = value.get(SCORE)
    if SCORE not in value:
        raise _bad("the reply has no score")
    if isinstance(score, bool) or not isinstance(score, int | float):
        raise _bad(f"the score is {_shown(score)}, not a number")
    if not 0 <= score <= 1:
        raise _bad(f"the score is {_shown(score)}, not from 0 to 1")
    reason = value.get(REASON)
    if not isinstance(reason, str) or not reason.strip():
        raise _bad("the reply has no reason")
    return ScoreReply(float(score), _encodable(reason), _claims(value.get(VERDICTS), statements) if statements else ())


def _claims(value: object, statements: int) -> tuple[ClaimReply, ...]:
    if not isinstance(value, list):
        raise _bad(f"{VERDICTS} is {_shown(value)}, not a list")
    found: dict[int, ClaimReply] = {}
    for item in value:
        index, claim = _claim(item)
        if not 1 <= index <= statements:
            raise _bad(f"there is a verdict on statement {index} of {statements}")
        if index in found:
            raise _bad(f"there are two verdicts on statement {index}")
        found[index] = claim
    missing = [str(index) for index in range(1, statements + 1) if index not in found]
    if missing:
        raise _bad(f"there is no verdict on statement {', '.join(missing)}")
    return tuple(found[index] for index in range(1, statements + 1))


def _claim(item: object) -> tuple[int, ClaimReply]:
    if not isinstance(item, dict):
        raise _bad(f"a statement's verdict is {_shown(item)}, not an object")
    index, passed, reason = item.get(INDEX), item.get(PASSED), item.get(REASON)
    if isinstance(index, bool) or not isinstance(index, int):
        raise _bad(f"a statement's index is {_shown(index)}, not a whole number")
    if not isinstance(passed, bool):
        raise _bad(f"the verdict on statement {index} is {_shown(passed)}, neither true nor false")
    if not isinstance(reason, str):
        raise _bad(f"the verdict on statement {index} has no reason")
    return index, ClaimReply(passed, _encodable(reason))


def _valid_objects(text: str, statements: int) -> tuple[list[ScoreReply], str]:
    """Return the distinct valid replies inside a text: in fences if there are any, else anywhere; and what is wrong."""
    found: list[ScoreReply] = []
    problem = ""
    for candidates in (_fenced(text), _anywhere(text)):
        for value in candidates:
            try:
                reply = validate_reply(value, statements)
            except JudgeError as error:
                problem = problem or (str(error) if SCORE in value else "")
                continue
            if reply not in found:
                found.append(reply)
        if found:
            break
    return found, problem


def _fenced(text: str) -> Iterator[dict[str, object]]:
    for match in _FENCE.finditer(text):
        value = _object(match.group(1).strip())
        if value is not None:
            yield value


def _anywhere(text: str) -> Iterator[dict[str, object]]:
    decoder = json.JSONDecoder(parse_constant=_refuse_constant, object_pairs_hook=_without_repeats)
    start, tries = text.find("{"), 0
    while start >= 0 and tries < _MAX_STARTS:
        tries += 1
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            start = text.find("{", start + 1)
            continue
        if isinstance(value, dict):
            yield value
        start = text.find("{", end)


def _object(text: str) -> dict[str, object] | None:
    try:
        value = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_without_repeats)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key stands twice in an object")
    return value


def _encodable(text: str) -> str:
    """Return ``text`` without half characters, which JSON can hold and UTF-8 cannot."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _bad(problem: str) -> JudgeError:
    return JudgeError(problem, retryable=True)


def _shown(value: object, limit: int = 80) -> str:
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}…"
