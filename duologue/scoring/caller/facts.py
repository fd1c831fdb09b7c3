"""Check of the simulated caller: the numbers, names and places it states are those it was told."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from rapidfuzz import fuzz

from duologue.records.action import Side
from duologue.records.event import ContextPulled, HeardText, ToolReturned
from duologue.scoring.caller.spoken_digits import DigitRun, digit_runs, figures
from duologue.toolkit.caller_facts import CallerFact, FactKind, checkable_facts
from duologue.toolkit.places import COUNTRIES, same_country
from duologue.toolkit.utterances import Deed, Utterance
from duologue.trace.reader import Trace

LONG_NUMBER_DIGITS = 7
"""A number of so many digits identifies something; the caller must have been told it."""

_LABEL_REACH = 40
"""How many characters ahead of a code its label may stand."""

_NAME_SCORE = 75.0  # of 100: Smith and Smyth are the same name, Smith and Jones are not
_CORRECTION = re.compile(r"\b(sorry|correction|i mean|rather|actually|wait|no)\b", re.IGNORECASE)
_NAME_CLAIM = re.compile(
    r"\bmy (?:full |first |last )?name(?: is|'s|’s) (?P<name>[^.,;!?—]+)"
    r"|\bthis is (?P<caller>[A-Z][\w'’-]+(?: [A-Z][\w'’-]+)*)(?: speaking| calling|,? and I\b)",
    re.IGNORECASE,
)
_THERE = r"\b(?P<ahead>\w+ )?(?:i am|i'm|i’m|we are|we're|we’re)\b(?P<between>[^.!?;]{0,40}?)\b"
_DENIED = re.compile(r"\b(not|never|no|going|about|was|will|would|planning|next)\b|n't|n’t", re.IGNORECASE)
_CONDITIONS = {"if", "when", "whenever", "while", "unless", "where", "whether"}


@dataclass(slots=True)
class Contradiction:
    """Something the caller said that it was not told: the words, what was expected, and where."""

    said: str
    expected: str
    seqs: list[int]


@dataclass(slots=True)
class _Known:
    """Every number that the caller was told so far."""

    numbers: set[str] = field(default_factory=set)

    def learn(self, value: object) -> None:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        self.numbers.update(number for number in figures(text) if number)

    def covers(self, digits: str) -> bool:
        """Whether the digits are a told number, a part of one, or one said more than once or with a country code."""
        if any(digits in number for number in self.numbers):
            return True
        for number in self.numbers:
            if len(number) >= LONG_NUMBER_DIGITS and number in digits:
                rest = digits.replace(number, "")
                if len(rest) <= 3 or rest in number:
                    return True
        return False


def find_contradictions(trace: Trace, deeds: Sequence[Deed]) -> tuple[list[Contradiction], int]:
    """Return what the caller said against its brief, and how many facts of the brief can be checked."""
    scenario = trace.header.scenario
    facts = checkable_facts(scenario.domain, scenario.user.facts)
    known = _Known()
    known.learn(scenario.user.prompt)
    known.learn(scenario.user.facts)
    for event in trace.of(ContextPulled):
        if event.side is Side.USER:
            for message in event.messages:
                if isinstance(message, dict) and message.get("role") == "system":
                    known.learn(message.get("content"))
    found: list[Contradiction] = []
    for deed in deeds:
        if isinstance(deed, Utterance) and deed.side is Side.USER:
            found += _in_utterance(deed, facts, known)
        elif isinstance(deed, Utterance) or (isinstance(deed, HeardText) and deed.side is Side.USER):
            known.learn(deed.text)
        elif isinstance(deed, ToolReturned) and deed.side is Side.USER:
            known.learn(deed.result)
    return found, len(facts)


def _in_utterance(utterance: Utterance, facts: Sequence[CallerFact], known: _Known) -> Iterator[Contradiction]:
    text = utterance.text
    for run in digit_runs(text):
        expected = _number_problem(run, facts, known)
        if expected and not _is_corrected(run.after, known):
            yield Contradiction(run.digits, expected, utterance.seqs)
    for fact in facts:
        claims = {FactKind.NAME: _wrong_names, FactKind.PLACE: _wrong_places}.get(fact.kind)
        for said in claims(text, fact) if claims is not None else ():
            yield Contradiction(said, f"{fact.key}: {fact.value}", utterance.seqs)


def _number_problem(run: DigitRun, facts: Sequence[CallerFact], known: _Known) -> str:
    """Return what was expected instead of these digits; empty when nothing is wrong with them."""
    numbers = [fact for fact in facts if fact.kind is FactKind.NUMBER]
    if len(run.digits) >= LONG_NUMBER_DIGITS:
        told = ", ".join(f"{fact.key}: {fact.value}" for fact in numbers)
        return "" if known.covers(run.digits) else told or "no number of this length was told"
    for fact in numbers:
        digits = re.sub(r"\D", "", fact.value)
        label = fact.key.replace("_", " ").lower()
        is_labelled = f"my {label}" in run.before[-_LABEL_REACH:].lower()
        if is_labelled and len(digits) == len(run.digits) and digits != run.digits:
            return f"{fact.key}: {fact.value}"
    return ""


def _is_corrected(after: str, known: _Known) -> bool:
    """Whether the caller corrects itself in the same breath."""
    if not _CORRECTION.search(after):
        return False
    return any(len(run.digits) >= 3 and known.covers(run.digits) for run in digit_runs(after))


def _wrong_names(text: str, fact: CallerFact) -> Iterator[str]:
    told = [word for name in (fact.value, *fact.also) for word in _name_words(name)]
    for match in _NAME_CLAIM.finditer(text):
        said = match["name"] or match["caller"]
        words = _name_words(said)
        if not said[:1].isupper() or not words:
            continue
        spelled = "".join(words)
        is_told = any(fuzz.ratio(one, two) >= _NAME_SCORE for one in words[:4] for two in told)
        if not is_told and not any(word in spelled for word in told):
            yield said.strip()


def _name_words(name: str) -> list[str]:
    return re.findall(r"[^\W\d_]+", name.lower())


def _wrong_places(text: str, fact: CallerFact) -> Iterator[str]:
    told = (fact.value, *fact.also)
    said = text.casefold()
    for country in COUNTRIES:
        if country.casefold() not in said:
            continue
        pattern = rf"{_THERE}(?:in|visiting|around) (?:the )?{re.escape(country)}\b"
        if any(same_country(country, name) for name in told):
            continue
        yield from (match.group().strip() for match in re.finditer(pattern, text, re.IGNORECASE) if _is_stated(match))
    for words in fact.against:
        pattern = rf"{_THERE}{re.escape(words)}\b"
        yield from (match.group().strip() for match in re.finditer(pattern, text, re.IGNORECASE) if _is_stated(match))


def _is_stated(match: re.Match[str]) -> bool:
    ahead = (match["ahead"] or "").strip().lower()
    return ahead not in _CONDITIONS and not _DENIED.search(match["between"])
