"""Brains: what sits in the model's place and decides without one.

A brain is pure. It reads the chat messages of its side and the scenario payload, and says what to do
next. It keeps nothing between two decisions, so a repeated run and an interrupted reply need no special case.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from duologue.bots.brains.baselines import DoNothing
from duologue.bots.brains.reply import BrainCall, BrainReply
from duologue.errors import ConfigError

__all__ = ["Brain", "BrainCall", "BrainReply", "build_brain"]


class Brain(Protocol):
    """Decides one side's next words and tool calls."""

    def decide(self, messages: list[dict[str, Any]], tools: list[str]) -> BrainReply:
        """Return the next reply.

        Args:
            messages: chat messages of this side as the OpenAI API words them: roles ``system``, ``user``,
                ``assistant`` (with ``tool_calls``) and ``tool`` (content is JSON text).
            tools: names of the tools that this side may call.
        """
        ...


Builder = Callable[[dict[str, Any], dict[str, Any]], Brain]

_BUILDERS: dict[str, Builder] = {
    "do_nothing": lambda payload, settings: DoNothing(),
}


def build_brain(kind: str, payload: dict[str, Any], settings: dict[str, Any]) -> Brain:
    """Return the brain ``kind`` for one scenario.

    Args:
        kind: ``reference``, ``scripted_user``, ``do_nothing`` or ``wrong_action``.
        payload: the scenario payload of the wire: name, domain, facts, and for agents the plan or the mutations.
        settings: options of the kind; ``wrong_action`` needs ``mutation``.

    Raises:
        ConfigError: the kind is unknown, or a setting or a part of the payload is missing.
    """
    if kind not in _BUILDERS:
        raise ConfigError(f"llm.type {kind!r} is not a scripted brain; known: {', '.join(sorted(_BUILDERS))}")
    return _BUILDERS[kind](payload, settings)
