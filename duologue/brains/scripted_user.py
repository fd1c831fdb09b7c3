"""A caller without a model: states its problem, answers from its facts, uses its tools when asked."""

from __future__ import annotations

from dataclasses import dataclass

from duologue.brains.dialogue import (
    AGENT_COURTESIES,
    CALLER_AGAIN,
    CALLER_DONE,
    CALLER_GIVES_UP,
    CALLER_NOT_HAPPY,
    CALLER_NOTHING_DONE,
    CALLER_UNKNOWN_RESULT,
    CALLER_WAITS,
    Courtesy,
)
from duologue.brains.history import Act, Called, Heard, Spoke, read_acts
from duologue.brains.matching import Match, best_match, contains
from duologue.brains.reply import BrainCall, BrainReply
from duologue.toolkit.phrasebook import Phrasebook, Request
from duologue.toolkit.vocabulary import Vocabulary

Meaning = int | str
"""What a sentence can mean to the caller: the index of a request, a topic, or a courtesy."""

MAX_AGAIN = 6
"""How often in a row the caller asks to repeat before it gives up."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """How sure the caller must be of what it heard (scores and leads from 0 to 100)."""

    threshold: float = 68.0
    margin: float = 4.0


class ScriptedUser:
    """Decides from what it heard and from its facts; it never sees the agent's plan.

    Args:
        phrasebook: the words of the domain.
        vocabulary: the words that only the domain knows.
        facts: what the caller knows, in structured form.
        tuning: how sure it must be of what it heard.
    """

    def __init__(
        self, phrasebook: Phrasebook, vocabulary: Vocabulary, facts: dict[str, object], tuning: Tuning | None = None
    ) -> None:
        self._book = phrasebook
        self._vocabulary = vocabulary
        self._facts = facts
        self._tuning = tuning or Tuning()

    def decide(self, messages: list[dict[str, object]], tools: list[str]) -> BrainReply:
        """Return the caller's next words or tool calls; nothing once it has said goodbye."""
        acts = read_acts(messages)
        if not acts or self._has_parted(acts):
            return BrainReply()
        last = acts[-1]
        if isinstance(last, Called):
            return BrainReply() if last.is_open else BrainReply(self._report(_unreported(acts)))
        if isinstance(last, Spoke):
            return BrainReply()
        return self._respond(last.text, acts[:-1], tools)

    def _has_parted(self, acts: list[Act]) -> bool:
        partings = (CALLER_DONE, CALLER_NOT_HAPPY, CALLER_GIVES_UP)
        return any(isinstance(act, Spoke) and contains(act.text, "goodbye", self._vocabulary) for act in acts) or any(
            isinstance(act, Spoke) and any(contains(act.text, line, self._vocabulary) for line in partings)
            for act in acts
        )

    def _respond(self, heard: str, before: list[Act], tools: list[str]) -> BrainReply:
        pending = _unreported(before)
        meant = self._meaning(heard, tools)
        if isinstance(meant, Request):
            call = BrainCall(meant.tool, dict(meant.arguments))
            if any(act.name == call.name and act.arguments == call.arguments for act in pending):
                return BrainReply(self._report(pending))
            return BrainReply(calls=(call,))
        if pending:
            return BrainReply(self._report(pending))
        if isinstance(meant, str) and not isinstance(meant, Courtesy):
            earlier = [act.text for act in before if isinstance(act, Heard)]
            times = sum(self._meaning(text, tools) == meant for text in earlier)
            return BrainReply(self._book.answer(meant, self._facts, times))
        return BrainReply(self._be_courteous(meant if isinstance(meant, Courtesy) else None, before))

    def _be_courteous(self, courtesy: Courtesy | None, before: list[Act]) -> str:
        has_spoken = any(isinstance(act, Spoke) for act in before)
        if courtesy is Courtesy.ANYTHING_ELSE or (courtesy is Courtesy.GOODBYE and has_spoken):
            return CALLER_NOT_HAPPY if self._sees_failure(before) else CALLER_DONE
        if courtesy is Courtesy.GREETING or not has_spoken:
            return self._book.opening(self._facts)
        if courtesy is Courtesy.AGAIN:
            return self._last_words(before)
        if courtesy is Courtesy.WAIT:
            return CALLER_WAITS
        count = self._times_asked_again(before)
        return CALLER_AGAIN[count % len(CALLER_AGAIN)] if count < MAX_AGAIN else CALLER_GIVES_UP

    def understand(self, heard: str, tools: list[str]) -> Match[Meaning] | None:
        """Return the meaning that fits ``heard`` best, however badly: a request, a topic or a courtesy."""
        known: dict[Meaning, tuple[str, ...]] = {
            index: request.phrasings for index, request in enumerate(self._book.requests) if request.tool in tools
        }
        known |= {question.topic: question.phrasings for question in self._book.questions}
        return best_match(heard, {**known, **AGENT_COURTESIES}, self._vocabulary)

    def _meaning(self, heard: str, tools: list[str]) -> Request | str | None:
        match = self.understand(heard, tools)
        if match is None or not match.is_clear(self._tuning.threshold, self._tuning.margin):
            return None
        return self._book.requests[match.key] if isinstance(match.key, int) else match.key

    def _report(self, calls: list[Called]) -> str:
        lines = [
            self._book.report(call.name, call.arguments, call.result) if call.is_known else CALLER_UNKNOWN_RESULT
            for call in calls
        ]
        return " ".join(dict.fromkeys(lines))

    def _last_words(self, before: list[Act]) -> str:
        lines = [index for index, act in enumerate(before) if isinstance(act, Spoke)]
        spoken = before[lines[-1]]
        if isinstance(spoken, Spoke) and self._asks_again(spoken.text):
            return CALLER_NOTHING_DONE
        reported = _unreported(before[: lines[-1]])
        if reported:
            return self._report(reported)
        return spoken.text if isinstance(spoken, Spoke) else ""

    def _times_asked_again(self, before: list[Act]) -> int:
        count = 0
        for act in reversed(before):
            if isinstance(act, Called) or (isinstance(act, Spoke) and not self._asks_again(act.text)):
                break
            count += isinstance(act, Spoke)
        return count

    def _sees_failure(self, before: list[Act]) -> bool:
        views = [
            self._book.is_satisfied(self._facts, act.name, act.result)
            for act in before
            if isinstance(act, Called) and act.is_known
        ]
        told = [view for view in views if view is not None]
        return bool(told) and not told[-1]

    def _asks_again(self, text: str) -> bool:
        return any(contains(text, line, self._vocabulary) for line in (*CALLER_AGAIN, CALLER_NOTHING_DONE))


def _unreported(acts: list[Act]) -> list[Called]:
    """Return the finished calls after the last own words."""
    calls: list[Called] = []
    for act in reversed(acts):
        if isinstance(act, Spoke):
            break
        if isinstance(act, Called) and not act.is_open:
            calls.insert(0, act)
    return calls
