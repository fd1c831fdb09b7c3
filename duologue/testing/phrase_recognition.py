"""Whether a phrasebook survives speech: every line is spoken, transcribed, and understood by the other side.

``python -m duologue.testing.phrase_recognition --domain NAME`` speaks every line in both voices and prints
what was misunderstood.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from duologue.brains import dialogue
from duologue.brains.dialogue import Courtesy
from duologue.brains.plan import AnswerKind, Step, judge_answer
from duologue.brains.scripted_user import ScriptedUser, Tuning
from duologue.config import SttConfig, TtsConfig
from duologue.records.action import Side
from duologue.records.scenario import CatalogueOptions, Scenario
from duologue.registry import load_domain
from duologue.speech.hibari import HibariVoice
from duologue.speech.whisper import RATE_HZ, ShortWhisper
from duologue.toolkit.dual_state import DualState, replay_reference
from duologue.toolkit.phrasebook import PHRASEBOOKS, Phrasebook, Request
from duologue.toolkit.results import error_value
from duologue.toolkit.rules import CATALOGUES, RULES_NAME
from duologue.toolkit.tool import find_tool, side_tools
from duologue.toolkit.vocabulary import Vocabulary, vocabulary_of

Hearing = Callable[[str], str]
PITCHES = {"normal": 1.0, "low": 0.8}


@dataclass(frozen=True, slots=True)
class SpokenLine:
    """A sentence to be spoken and what the listener must make of it; ``judge`` returns (is right, lead)."""

    text: str
    meaning: str
    judge: Callable[[str], tuple[bool, float]]


@dataclass(frozen=True, slots=True)
class Recognition:
    """One line as it was heard."""

    line: SpokenLine
    heard: str
    is_right: bool
    lead: float


class Telephone:
    """Speaks in one voice and transcribes what was spoken.

    Raises:
        ConfigError: the local speech models are not installed.
    """

    def __init__(self, whisper: ShortWhisper, pitch: float) -> None:
        self._whisper = whisper
        self._voice = HibariVoice(TtsConfig(pitch=pitch), RATE_HZ)

    def hear(self, text: str) -> str:
        """Return the transcript of ``text``, spoken sentence by sentence as a bot does."""
        sentences = re.split(r"(?<=[.?!]) ", text)
        audio = b"".join(word.audio for sentence in sentences for word in self._voice.speak(sentence))
        return self._whisper.transcribe(np.frombuffer(audio, dtype="<i2").astype(np.float32) / 32768.0)


def caller_hears(domain: str) -> Iterator[SpokenLine]:
    """Yield every line that our agent says, judged by the scripted caller."""
    book = PHRASEBOOKS.get(domain, RULES_NAME)
    caller = ScriptedUser(book, vocabulary_of(domain), {})
    tools = list(side_tools(domain, Side.USER))

    def line(text: str, *meanings: int | str) -> SpokenLine:
        def judge(heard: str) -> tuple[bool, float]:
            match, tuning = caller.understand(heard, tools), Tuning()
            if match is None or match.key not in meanings:
                return False, -match.lead if match else 0.0
            return match.is_clear(tuning.threshold, tuning.margin), match.lead

        return SpokenLine(text, str(meanings[0]), judge)

    for index, request in enumerate(book.requests):
        for wording in request.phrasings[:2]:
            yield line(wording, index)
    for question in book.questions:
        yield line(question.phrasings[0], question.topic)
    yield line(book.identification.again, book.identification.topic)
    yield line(book.greeting, Courtesy.GREETING)
    for wording in (*dialogue.AGENT_AGAIN, dialogue.AGENT_STILL_THERE):
        yield line(wording, Courtesy.AGAIN)
    yield line(dialogue.AGENT_ANYTHING_ELSE, Courtesy.ANYTHING_ELSE)
    yield line(dialogue.AGENT_CLOSING, Courtesy.GOODBYE)


def agent_hears(scenarios: Sequence[Scenario]) -> Iterator[SpokenLine]:
    """Yield every line that our caller says in ``scenarios`` of one domain, judged by the reference agent."""
    domain = scenarios[0].domain
    book, vocabulary = PHRASEBOOKS.get(domain, RULES_NAME), vocabulary_of(domain)
    for text, request in sorted(_reports(scenarios, book).items()):
        yield _answer(text, request, book, vocabulary, AnswerKind.REPORT)
    for wording in dialogue.CALLER_AGAIN:
        yield _answer(wording, book.requests[0], book, vocabulary, AnswerKind.AGAIN)
    yield _answer(dialogue.CALLER_NOTHING_DONE, book.requests[0], book, vocabulary, AnswerKind.IDLE)
    yield _answer(dialogue.CALLER_UNKNOWN_RESULT, book.requests[0], book, vocabulary, AnswerKind.REPORT)
    failure = book.report(book.requests[0].tool, book.requests[0].arguments, error_value("tool_error", "no"))
    yield _answer(failure, book.requests[0], book, vocabulary, AnswerKind.FAILURE)
    rule = book.identification
    facts = scenarios[0].user.facts
    expected = rule.parse(book.answer(rule.topic, facts, 0))
    for times in range(2):
        text = book.answer(rule.topic, facts, times)
        yield SpokenLine(text, str(expected), lambda heard: (rule.parse(heard) == expected, 100.0))


def _reports(scenarios: Sequence[Scenario], book: Phrasebook) -> dict[str, Request]:
    """Return what the caller reports of each request before and after the reference solution."""
    reports: dict[str, Request] = {}
    for scenario in scenarios:
        for state in (DualState.for_scenario(scenario), replay_reference(scenario).state):
            for request in book.requests:
                used = state.side(Side.USER).copy()
                outcome = find_tool(scenario.domain, request.tool).invoke(used, request.arguments)
                if outcome.ok:
                    reports[book.report(request.tool, request.arguments, outcome.value)] = request
    return reports


def _answer(text: str, request: Request, book: Phrasebook, vocabulary: Vocabulary, kind: AnswerKind) -> SpokenLine:
    step = Step(Side.USER, request.tool, dict(request.arguments), request.phrasings, request.reports)

    def judge(heard: str) -> tuple[bool, float]:
        answer = judge_answer(heard, step, book, vocabulary)
        return answer.kind is kind, answer.lead

    return SpokenLine(text, f"{kind} {request.tool}", judge)


def recognize(lines: Sequence[SpokenLine], hear: Hearing) -> list[Recognition]:
    """Return how each line was understood."""
    found = []
    for line in lines:
        heard = hear(line.text)
        found.append(Recognition(line, heard, *line.judge(heard)))
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; 0 when every line was understood in both voices."""
    parser = argparse.ArgumentParser(prog="python -m duologue.testing.phrase_recognition", description=__doc__)
    parser.add_argument("--domain", required=True)
    parser.add_argument("--all", action="store_true", help="print every line, not only the misunderstood ones")
    options = parser.parse_args(sys.argv[1:] if arguments is None else arguments)
    load_domain(options.domain)
    scenarios = CATALOGUES.get(options.domain, RULES_NAME).load(CatalogueOptions())
    lines = {"agent": list(caller_hears(options.domain)), "caller": list(agent_hears(scenarios))}
    whisper = ShortWhisper(SttConfig())
    missed = 0
    for voice, pitch in PITCHES.items():
        telephone = Telephone(whisper, pitch)
        for speaker, spoken in lines.items():
            found = recognize(spoken, telephone.hear)
            wrong = [item for item in found if not item.is_right]
            missed += len(wrong)
            for item in sorted(found if options.all else wrong, key=lambda item: item.lead):
                sys.stdout.write(f"{item.lead:6.1f} {item.line.text!r} was heard as {item.heard!r}\n")
            sys.stdout.write(f"{speaker} in the {voice} voice: {len(found) - len(wrong)} of {len(found)} understood\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
