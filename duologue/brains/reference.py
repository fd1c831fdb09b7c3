"""An agent without a model that walks a given plan through speech.

It knows *what* to do, not what was said: it asks, listens, and asks again. Where it stands is read from
the conversation each time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from duologue.brains.dialogue import (
    AGENT_AGAIN,
    AGENT_ANYTHING_ELSE,
    AGENT_CLOSING,
    AGENT_STILL_THERE,
)
from duologue.brains.history import Act, Called, Heard, Spoke, read_acts
from duologue.brains.matching import contains
from duologue.brains.plan import MAX_FAILURES, Progress, Step, build_steps, read_progress
from duologue.brains.reply import BrainCall, BrainReply
from duologue.records.action import Side
from duologue.toolkit.phrasebook import Phrasebook
from duologue.toolkit.tool import END_CALL_TOOL
from duologue.toolkit.vocabulary import Vocabulary

MAX_NUMBER_REQUESTS = 4  # a number that was not heard four times is asked for in another way
MAX_NUDGES = 3  # a caller who does not answer three times in a row has nothing more to say
ANY_TEXT = "*"
"""In a plan, the argument of a transfer that may be any text; the caller's opening is then passed on."""

_HANG_UP = BrainReply(AGENT_CLOSING, (BrainCall(END_CALL_TOOL, {}),))


@dataclass(slots=True)
class Identity:
    """How far the agent is in finding out who calls; ``heard`` waits to be looked up."""

    book: Phrasebook
    vocabulary: Vocabulary
    requests: int = 0
    fell_back: bool = False
    heard: str | None = None
    is_done: bool = False

    def take(self, act: Act) -> None:
        """Account for one more act of the conversation."""
        rule = self.book.identification
        if isinstance(act, Spoke):
            if any(contains(act.text, line, self.vocabulary) for line in (self._ask(), rule.again)):
                self.requests += 1
            self.fell_back = self.fell_back or contains(act.text, self._fall_back(), self.vocabulary)
        elif isinstance(act, Heard):
            self.is_done = self.fell_back
            if not self.fell_back:
                self.heard = rule.parse(act.text)
        elif act.name == rule.tool and not act.is_open:
            self.is_done, self.heard = act.is_known and not act.failed, None

    def next(self) -> BrainReply:
        """Return the next question or look-up."""
        rule = self.book.identification
        if self.heard is not None:
            return BrainReply(calls=(BrainCall(rule.tool, {rule.argument: self.heard}),))
        if self.fell_back or self.requests >= MAX_NUMBER_REQUESTS:
            return BrainReply(self._fall_back())
        return BrainReply(rule.again if self.requests else self._ask())

    def _ask(self) -> str:
        return _first_wording(self.book, self.book.identification.topic)

    def _fall_back(self) -> str:
        return _first_wording(self.book, self.book.identification.fall_back_topic)


class Reference:
    """Walks ``plan``: asks the caller for its steps, takes its own, has the result checked, and closes.

    Args:
        phrasebook: the words of the domain.
        vocabulary: the words that only the domain knows.
        plan: the steps as JSON: side, name, arguments.
        family: the scenario's family, which selects the caller's last look.

    Raises:
        ConfigError: a step of the caller's side has no words.
    """

    def __init__(
        self, phrasebook: Phrasebook, vocabulary: Vocabulary, plan: Sequence[dict[str, Any]], family: str
    ) -> None:
        self._book = phrasebook
        self._vocabulary = vocabulary
        self._steps = build_steps(plan, phrasebook, family)

    def decide(self, messages: list[dict[str, object]], tools: list[str]) -> BrainReply:
        """Return the next words or tool calls; nothing once the call was ended or a tool still runs."""
        acts = read_acts(messages)
        enders = {END_CALL_TOOL, *self._book.transfers}
        calls = [act for act in acts if isinstance(act, Called)]
        if any(call.name in enders or call.is_open for call in calls):
            return BrainReply()
        first = next((index for index, act in enumerate(acts) if isinstance(act, Spoke)), None)
        if first is None:
            return BrainReply(self._book.greeting)
        if _nudges(acts) >= MAX_NUDGES:
            return _HANG_UP
        identity = Identity(self._book, self._vocabulary)
        for index in range(first, len(acts)):
            identity.take(acts[index])
            if identity.is_done:
                opening = next((act.text for act in acts[first:] if isinstance(act, Heard)), "nothing")
                return self._walk(acts[index + 1 :], opening)
        return identity.next()

    def _walk(self, acts: Sequence[Act], opening: str) -> BrainReply:
        progress = read_progress(acts, self._steps, self._book, self._vocabulary)
        step = progress.step
        if step is None:
            return self._close(progress, acts)
        last = acts[-1] if acts else None
        if step.side is Side.AGENT:
            return self._act(progress, step, opening)
        if not progress.is_asked:
            return BrainReply(
                self._with_news(progress, step.phrasings[progress.requests % min(2, len(step.phrasings))])
            )
        if isinstance(last, Heard):
            return BrainReply(AGENT_AGAIN[progress.unclear % len(AGENT_AGAIN)])
        return BrainReply(AGENT_STILL_THERE)

    def _act(self, progress: Progress, step: Step, opening: str) -> BrainReply:
        call = BrainCall(step.name, step.arguments)
        if step.name in self._book.transfers:
            texts = {name: opening if value == ANY_TEXT else value for name, value in step.arguments.items()}
            call = BrainCall(step.name, texts)
            return BrainReply(self._with_news(progress, self._book.transfers[step.name]), (call,))
        if step.name == END_CALL_TOOL:
            return BrainReply(self._with_news(progress, AGENT_CLOSING), (call,))
        question = self._book.permission(step.name, step.arguments)
        if question and not progress.has_permission and progress.requests < MAX_FAILURES:
            return BrainReply(self._with_news(progress, question))
        return BrainReply(calls=(call,))

    def _close(self, progress: Progress, acts: Sequence[Act]) -> BrainReply:
        if any(isinstance(act, Spoke) and contains(act.text, AGENT_ANYTHING_ELSE, self._vocabulary) for act in acts):
            return _HANG_UP
        return BrainReply(self._with_news(progress, AGENT_ANYTHING_ELSE))

    def _with_news(self, progress: Progress, text: str) -> str:
        told = [self._book.announce(call.name, call.arguments, call.result) for call in progress.news]
        return " ".join(part for part in (*told, text) if part)


def _first_wording(book: Phrasebook, topic: str) -> str:
    question = book.question(topic)
    return question.phrasings[0] if question else ""


def _nudges(acts: Sequence[Act]) -> int:
    """Return how often the agent has asked whether anybody is there since it last heard something."""
    return acts[-1].text.count(AGENT_STILL_THERE) if acts and isinstance(acts[-1], Spoke) else 0
