"""Checks of the simulated caller: it speaks as the caller, stays in its part, and hangs up with a reason."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from duologue.records.action import Side
from duologue.records.event import ExitRequested, HeardText, ToolReturned
from duologue.records.scenario import Scenario
from duologue.toolkit.phrasebook import PHRASEBOOKS
from duologue.toolkit.rules import RULES_NAME
from duologue.toolkit.utterances import Deed, Utterance
from duologue.toolkit.vocabulary import vocabulary_of

SILENCE_MS = 20_000
"""A caller who has heard nothing for so long may hang up."""

ABSENCE_MS = 60_000
"""A caller who heard a question, and says and does nothing for so long, is gone."""

_AGENT_LINES = (
    r"\bthank(?:s| you) for (?:calling|contacting|reaching out)\b"
    r"|\bhow (?:can|may) i (?:help|assist) you\b"
    r"|\banything else (?:that )?i (?:can|may) (?:help|assist|do)\b"
    r"|\bi (?:will|'ll|’ll|am going to|can) transfer you\b"
    r"|\b(?:may|can|could) i (?:please )?have your (?:full )?(?:name|phone|number|account|date of birth)\b"
    r"|\blet me (?:pull up|look up|check) your (?:account|line|details)\b"
)
_OUT_OF_PART = re.compile(
    r"\bas an? (?:ai|artificial intelligence|(?:large )?language model)\b"
    r"|\bi(?: am|'m|’m) (?:just )?an? (?:ai|language model|simulated|chatbot)\b"
    r"|\b(?:my|the) (?:system )?prompt (?:says|tells|does)\b"
    r"|\bmy instructions (?:say|tell|are)\b"
    r"|\bin this (?:scenario|simulation|role-?play)\b"
    r"|\bthe (?:scenario|simulation) (?:says|is over|ends)\b"
    r'|\{\s*"\w+"\s*:'
    r"|</?(?:tool_call|function|think)\b",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    r"\b(?:good ?bye|bye|farewell|anything else|nice day|great day|good day|take care|transfer|colleague|callback"
    r"|thank(?:s| you) for calling|solved|resolved|fixed|working now|works now|hang up|end (?:the|this) call"
    r"|call (?:you )?back)\b",
    re.IGNORECASE,
)
_GREETING = re.compile(r"\bthank(?:s| you) for calling\b", re.IGNORECASE)
_REASON = re.compile(
    r"\b(?:call (?:again|back)|try again later|can(?:not| not|'t|’t) hear|give up|have to go|need to go|no longer|waste"
    r"|had it|had enough|frustrat\w*|speak to someone else)\b",
    re.IGNORECASE,
)


def agent_lines(scenario: Scenario, deeds: Sequence[Deed]) -> Iterator[tuple[str, list[int]]]:
    """Yield what the caller said as if it were the agent, with the events that hold it."""
    lines = (_AGENT_LINES, *vocabulary_of(scenario.domain).agent_lines)
    yield from _found(re.compile("|".join(lines), re.IGNORECASE), deeds)


def lines_out_of_part(scenario: Scenario, deeds: Sequence[Deed]) -> Iterator[tuple[str, list[int]]]:
    """Yield what no caller says: talk about prompts and models, raw data, names of tools."""
    yield from _found(_OUT_OF_PART, deeds)
    names = [*scenario.user.resources.tools, *scenario.agent.resources.tools]
    tools = [re.escape(name) for name in names if "_" in name]
    if tools:
        yield from _found(re.compile(rf"\b(?:{'|'.join(tools)})\b"), deeds)


def hang_up_without_reason(scenario: Scenario, deeds: Sequence[Deed]) -> ExitRequested | None:
    """Return the caller's first request to end the call, if nothing that happened explains it."""
    for index, deed in enumerate(deeds):
        if isinstance(deed, ExitRequested) and deed.side is Side.USER:
            return None if _is_explained(scenario, deeds[:index], deed) else deed
    return None


def unanswered_question(deeds: Sequence[Deed], end_ms: int) -> Utterance | None:
    """Return what the agent asked first of a caller who heard it, and did nothing more until ``end_ms``.

    Nobody owes an answer to words that ask for nothing ("One moment, please"), unless the caller never spoke at all.
    """
    is_users = [deed.side is Side.USER and not isinstance(deed, HeardText) for deed in deeds]
    since = len(deeds) - is_users[::-1].index(True) if True in is_users else 0
    has_spoken = any(isinstance(deed, Utterance) and deed.side is Side.USER for deed in deeds)
    said = [deed for deed in deeds[since:] if isinstance(deed, Utterance)]
    owed = [deed for deed in said if not has_spoken or deed.text.rstrip().endswith("?")]
    if not owed or owed[-1] is not said[-1] or end_ms - owed[0].end_ms < ABSENCE_MS:
        return None
    after = deeds[deeds.index(owed[0]) :]
    was_heard = any(isinstance(deed, HeardText) and deed.side is Side.USER for deed in after)
    return owed[0] if was_heard else None


def _is_explained(scenario: Scenario, before: Sequence[Deed], exit_: ExitRequested) -> bool:
    agent = [deed for deed in before if isinstance(deed, Utterance) and deed.side is Side.AGENT]
    user = [deed for deed in before if isinstance(deed, Utterance) and deed.side is Side.USER]
    if any(isinstance(deed, ExitRequested) and deed.side is Side.AGENT for deed in before):
        return True
    if not agent or exit_.t_ms - agent[-1].end_ms >= SILENCE_MS:
        return True
    lately = [_GREETING.sub("", deed.text) if deed is agent[0] else deed.text for deed in agent[-2:]]
    if any(_CLOSING.search(text) for text in lately):
        return True
    has_explained = bool(user) and _REASON.search(user[-1].text) is not None
    return has_explained or _is_satisfied(scenario, before)


def _is_satisfied(scenario: Scenario, before: Sequence[Deed]) -> bool:
    book = PHRASEBOOKS.find(scenario.domain, RULES_NAME)
    if book is None:
        return False
    results = [deed for deed in before if isinstance(deed, ToolReturned) and deed.side is Side.USER]
    views = [book.is_satisfied(scenario.user.facts, deed.name, deed.result) for deed in results]
    return any(view is True for view in views)


def _found(pattern: re.Pattern[str], deeds: Sequence[Deed]) -> Iterator[tuple[str, list[int]]]:
    for deed in deeds:
        if isinstance(deed, Utterance) and deed.side is Side.USER:
            match = pattern.search(deed.text)
            if match is not None:
                yield match.group(), deed.seqs
