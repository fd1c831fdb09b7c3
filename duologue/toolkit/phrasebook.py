"""Phrasebooks: how the two sides of a domain say things, for brains that run without a model.

A domain registers one :class:`Phrasebook` beside its tools. The engine's scripted brains know the course
of a call; the phrasebook knows the words. Everything in it is short, speakable, and distinct enough to
survive a small speech recognizer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from duologue.registry import Registry

__all__ = ["PHRASEBOOKS", "Arguments", "Identification", "Phrasebook", "Question", "Request"]

Arguments = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    """One thing that the caller can be asked to do with one of its tools.

    Args:
        tool: name of the caller's tool.
        arguments: arguments it is then called with.
        phrasings: wordings that ask for it; agents of ours say the first two, the caller knows all.
        reports: how the caller's report of it begins; whoever asked recognizes the report by these words.
    """

    tool: str
    arguments: Arguments
    phrasings: tuple[str, ...]
    reports: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """Something the caller can be asked from its facts: the ``topic`` and wordings that ask for it."""

    topic: str
    phrasings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Identification:
    """How an agent finds out who is calling.

    Args:
        topic: the topic of the question for the identifying text.
        tool: the agent's look-up tool.
        argument: its argument that takes the heard text.
        parse: heard words to the argument's value, or None when they hold none.
        again: asks for the text once more, more slowly.
        fall_back_topic: what to ask for when the text cannot be heard at all.
    """

    topic: str
    tool: str
    argument: str
    parse: Callable[[str], str | None]
    again: str
    fall_back_topic: str


@dataclass(frozen=True, slots=True)
class Phrasebook:
    """The words of one domain.

    Args:
        greeting: the agent's first line.
        requests: what the caller can be asked to do.
        questions: what the caller can be asked.
        identification: how an agent finds out who is calling.
        opening: facts to the caller's first line.
        answer: (topic, facts, how often it was asked before) to the caller's answer.
        report: (tool, arguments, result) of the caller's tool to the sentence that reports it truthfully.
        announce: (tool, arguments, result) of the agent's tool to a sentence for the caller; empty to say nothing.
        permission: (tool, arguments) of the agent's tool to the question to ask first; empty to ask nothing.
        is_satisfied: (facts, tool, result) of the caller's tool to whether it shows that the caller has what it
            wants; None when the tool does not tell.
        final_checks: family of scenarios to the (tool, arguments) that shows whether the problem is solved.
        transfers: the agent's tools that end the call by handing over, with the line to say before.
    """

    greeting: str
    requests: tuple[Request, ...]
    questions: tuple[Question, ...]
    identification: Identification
    opening: Callable[[Arguments], str]
    answer: Callable[[str, Arguments, int], str]
    report: Callable[[str, Arguments, Any], str]
    announce: Callable[[str, Arguments, Any], str]
    permission: Callable[[str, Arguments], str]
    is_satisfied: Callable[[Arguments, str, Any], bool | None]
    final_checks: Mapping[str, tuple[str, Arguments]] = field(default_factory=dict)
    transfers: Mapping[str, str] = field(default_factory=dict)

    def request(self, tool: str, arguments: Arguments) -> Request | None:
        """Return the request for exactly this call, or None when there are no words for it."""
        for request in self.requests:
            if request.tool == tool and dict(request.arguments) == dict(arguments):
                return request
        return None

    def question(self, topic: str) -> Question | None:
        """Return the question about ``topic``, or None."""
        return next((question for question in self.questions if question.topic == topic), None)


PHRASEBOOKS: Registry[Phrasebook] = Registry("phrasebook")
