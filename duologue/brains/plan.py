"""The steps that a reference agent walks, and how far the conversation has come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from duologue.brains.dialogue import CALLER_AGAIN, CALLER_NOTHING_DONE, CALLER_UNKNOWN_RESULT, caller_failure
from duologue.brains.history import Act, Called, Spoke
from duologue.brains.matching import contains, similarity
from duologue.errors import ConfigError
from duologue.records.action import Side
from duologue.toolkit.phrasebook import Phrasebook
from duologue.toolkit.vocabulary import Vocabulary

MAX_UNCLEAR = 3  # answers in a row that were not understood, after which the step counts as done
MAX_REQUESTS = 4  # asked so often for one step, the caller will not do it
MAX_FAILURES = 2  # a tool that failed twice fails a third time
# Similarity, of 100: what a report keeps through the bundled voice and recognizer, and other sentences do not have.
_REPORT_SCORE = 66.0
_AGAIN_SCORE = 74.0  # higher, since a short sentence is soon similar to any other
_OTHER_LEAD = 8.0  # what another step's report must be ahead by: reports of related tools share most of their words


@dataclass(frozen=True, slots=True)
class Step:
    """One step: what to call on which side, and for the caller's side the words that ask for it."""

    side: Side
    name: str
    arguments: dict[str, Any]
    phrasings: tuple[str, ...] = ()
    reports: tuple[str, ...] = ()


@dataclass(slots=True)
class Progress:
    """How far the plan has come, read from the conversation.

    ``requests``, ``unclear`` and ``failures`` count for the current step; ``is_asked`` says that its request
    was heard out since the caller last asked to repeat; ``is_last_asked`` that the request was the last thing
    said; ``news`` are own results that were not yet told.
    """

    steps: tuple[Step, ...]
    vocabulary: Vocabulary
    position: int = 0
    requests: int = 0
    unclear: int = 0
    failures: int = 0
    is_asked: bool = False
    is_last_asked: bool = False
    has_permission: bool = False
    news: list[Called] = field(default_factory=list)

    @property
    def step(self) -> Step | None:
        """The current step, or None after the last."""
        return self.steps[self.position] if self.position < len(self.steps) else None

    def take(self, act: Act, book: Phrasebook) -> None:
        """Account for one more act of the conversation."""
        if isinstance(act, Spoke):
            self.news.clear()
        step = self.step
        if step is None:
            return
        if isinstance(act, Called):
            self._take_call(act, step)
        elif isinstance(act, Spoke):
            self._take_own_words(act.text, step, book)
        elif step.side is Side.USER:
            self._take_answer(act.text, step, book)
        elif self.is_asked and _asks_again(act.text, self.vocabulary) and self.requests < MAX_FAILURES:
            self.is_asked = False
        elif self.is_asked:
            self.has_permission = True

    def _advance(self) -> None:
        self.position += 1
        self.requests = self.unclear = self.failures = 0
        self.is_asked = self.has_permission = False

    def _take_call(self, call: Called, step: Step) -> None:
        if step.side is Side.AGENT and call.name == step.name and call.arguments == step.arguments and not call.is_open:
            self.news.append(call)
            self._advance()

    def _take_own_words(self, text: str, step: Step, book: Phrasebook) -> None:
        phrasings = step.phrasings or (book.permission(step.name, step.arguments),)
        self.is_last_asked = any(phrasing and contains(text, phrasing, self.vocabulary) for phrasing in phrasings)
        if self.is_last_asked:
            self.is_asked = True
            self.requests += 1

    def _take_answer(self, heard: str, step: Step, book: Phrasebook) -> None:
        kind = judge_answer(heard, step, book, self.vocabulary).kind
        if not self.is_asked and not (kind is AnswerKind.REPORT and self._is_new(step)):
            return
        if kind is AnswerKind.REPORT:
            self._advance()
        elif kind is AnswerKind.FAILURE:
            self.failures += 1
            self._ask_again_or_go_on(self.failures >= MAX_FAILURES)
        elif kind is AnswerKind.IDLE or (kind is AnswerKind.AGAIN and self.is_last_asked):
            self._ask_again_or_go_on(self.requests >= MAX_REQUESTS)
        else:
            self.unclear += 1
            if self.unclear > MAX_UNCLEAR:
                self._advance()

    def _is_new(self, step: Step) -> bool:
        previous = [done for done in self.steps[: self.position] if done.side is Side.USER]
        return not previous or previous[-1].reports != step.reports

    def _ask_again_or_go_on(self, is_enough: bool) -> None:
        self.unclear = 0
        if is_enough:
            self._advance()
        else:
            self.is_asked = False


def build_steps(plan: Sequence[dict[str, Any]], book: Phrasebook, final_check: str) -> tuple[Step, ...]:
    """Return the plan's steps, and a last look by the caller unless the plan ends the call itself.

    Args:
        plan: reference actions as JSON: side, name, arguments.
        book: the words of the domain.
        final_check: the scenario's family, which selects the last look.

    Raises:
        ConfigError: the phrasebook has no words for a step of the caller's side.
    """
    steps = [_step(Side(row["side"]), str(row["name"]), dict(row.get("arguments") or {}), book) for row in plan]
    if final_check in book.final_checks and not any(step.name in book.transfers for step in steps):
        name, arguments = book.final_checks[final_check]
        steps.append(_step(Side.USER, name, dict(arguments), book))
    return tuple(steps)


def _step(side: Side, name: str, arguments: dict[str, object], book: Phrasebook) -> Step:
    if side is Side.AGENT:
        return Step(side, name, arguments)
    request = book.request(name, arguments)
    if request is None:
        raise ConfigError(f"the phrasebook has no request for {name}({arguments}); add one to walk this plan")
    return Step(side, name, arguments, request.phrasings, request.reports)


def read_progress(acts: Sequence[Act], steps: tuple[Step, ...], book: Phrasebook, vocabulary: Vocabulary) -> Progress:
    """Return how far ``acts`` have come on ``steps``."""
    progress = Progress(steps, vocabulary)
    for act in acts:
        progress.take(act, book)
    return progress


class AnswerKind(StrEnum):
    """What an answer to a request turned out to be."""

    REPORT = "report"
    FAILURE = "failure"
    AGAIN = "again"
    IDLE = "idle"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class Answer:
    """How an answer was judged; ``lead`` is the distance to the next best reading, 0 to 100."""

    kind: AnswerKind
    lead: float


def judge_answer(heard: str, step: Step, book: Phrasebook, vocabulary: Vocabulary) -> Answer:
    """Return whether ``heard`` reports on ``step``, on something else or a failure, or asks to repeat."""
    reported = _score(heard, (*step.reports, CALLER_UNKNOWN_RESULT), vocabulary)
    again = _score(heard, CALLER_AGAIN, vocabulary)
    idle = similarity(heard, CALLER_NOTHING_DONE, vocabulary)
    others = (request.reports for request in book.requests if request.reports != step.reports)
    other = max(_score(heard, reports, vocabulary) for reports in others)
    failed = max(similarity(heard, caller_failure(vocabulary), vocabulary), other)
    rival = max(again, idle, failed - _OTHER_LEAD)
    if reported >= _REPORT_SCORE and reported >= rival:
        return Answer(AnswerKind.REPORT, reported - max(rival, _REPORT_SCORE))
    if idle >= _AGAIN_SCORE and idle >= max(again, failed):
        return Answer(AnswerKind.IDLE, idle - max(again, failed))
    if failed >= _AGAIN_SCORE and failed >= again:
        return Answer(AnswerKind.FAILURE, failed - again)
    if again >= _AGAIN_SCORE:
        return Answer(AnswerKind.AGAIN, again - failed)
    return Answer(AnswerKind.UNCLEAR, 0.0)


def _score(heard: str, wordings: Sequence[str], vocabulary: Vocabulary) -> float:
    return max((similarity(heard, wording, vocabulary) for wording in wordings), default=0.0)


def _asks_again(heard: str, vocabulary: Vocabulary) -> bool:
    return _score(heard, CALLER_AGAIN, vocabulary) >= _AGAIN_SCORE
