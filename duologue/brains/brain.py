"""Brains: what sits in the model's place and decides without one.

A brain is pure. It reads the chat messages of its side and the scenario payload, and says what to do
next. It keeps nothing between two decisions, so a repeated run and an interrupted reply need no special case.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from duologue.brains.baselines import DoNothing
from duologue.brains.recorded import EveryTool, RecordedCallReference, Silent
from duologue.brains.reference import Reference
from duologue.brains.reply import BrainCall, BrainReply
from duologue.brains.scripted_user import ScriptedUser
from duologue.errors import ConfigError, RegistryError
from duologue.toolkit.phrasebook import PHRASEBOOKS, Phrasebook
from duologue.toolkit.rules import RULES_NAME
from duologue.toolkit.vocabulary import Vocabulary, vocabulary_of

__all__ = ["Brain", "BrainCall", "BrainReply", "build_brain"]


class Brain(Protocol):
    """Decides one side's next words and tool calls."""

    def decide(self, messages: list[dict[str, object]], tools: list[str]) -> BrainReply:
        """Return the next reply.

        Args:
            messages: chat messages of this side as the OpenAI API words them: roles ``system``, ``user``,
                ``assistant`` (with ``tool_calls``) and ``tool`` (content is JSON text).
            tools: names of the tools that this side may call.
        """
        ...


RECORDED_CALLER = "recording"
"""The value of the fact ``caller`` that says that the caller is a recording, which answers no questions."""

Builder = Callable[[dict[str, object], dict[str, object]], Brain]


def _words(payload: dict[str, object]) -> tuple[Phrasebook, Vocabulary]:
    domain = str(payload.get("domain", ""))
    try:
        return PHRASEBOOKS.get(domain, RULES_NAME), vocabulary_of(domain)
    except RegistryError as error:
        raise ConfigError(f"scripted brains need a phrasebook: {error}; use llm.type openai for this domain") from error


def _scripted_user(payload: dict[str, Any], settings: dict[str, object]) -> Brain:
    return ScriptedUser(*_words(payload), dict(payload.get("facts") or {}))


def _reference(payload: dict[str, Any], settings: dict[str, object]) -> Brain:
    if payload.get("plan") is None:
        raise ConfigError("llm.type reference needs the plan in its scenario payload; run it with our own bridge")
    facts = dict(payload.get("facts") or {})
    if facts.get("caller") == RECORDED_CALLER:
        return RecordedCallReference(payload["plan"], facts)
    return Reference(*_words(payload), payload["plan"], str(payload.get("family", "")))


def _wrong_action(payload: dict[str, Any], settings: dict[str, object]) -> Brain:
    plans = payload.get("mutations") or {}
    kind = settings.get("mutation")
    if kind not in plans:
        known = ", ".join(sorted(plans)) or "none; run it with our own bridge"
        raise ConfigError(f"llm.mutation is {kind!r}; the scenario payload has: {known}")
    return Reference(*_words(payload), plans[kind], str(payload.get("family", "")))


_BUILDERS: dict[str, Builder] = {
    "scripted_user": _scripted_user,
    "reference": _reference,
    "do_nothing": lambda payload, settings: DoNothing(),
    "wrong_action": _wrong_action,
    "silent": lambda payload, settings: Silent(),
    "every_tool": lambda payload, settings: EveryTool(),
}


def build_brain(kind: str, payload: dict[str, Any], settings: dict[str, object]) -> Brain:
    """Return the brain ``kind`` for one scenario.

    Args:
        kind: ``reference``, ``scripted_user``, ``do_nothing``, ``wrong_action``, ``silent`` or ``every_tool``.
        payload: the scenario payload of the wire: name, domain, facts, and for agents the plan or the mutations.
        settings: options of the kind; ``wrong_action`` needs ``mutation``.

    Raises:
        ConfigError: the kind is unknown, or a setting or a part of the payload is missing.
    """
    if kind not in _BUILDERS:
        raise ConfigError(f"llm.type {kind!r} is not a scripted brain; known: {', '.join(sorted(_BUILDERS))}")
    return _BUILDERS[kind](payload, settings)
