"""Agents without a model for callers that are recordings: such a caller answers nothing, it only goes on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from duologue.brains.history import Called, Heard, read_acts
from duologue.brains.reply import BrainCall, BrainReply
from duologue.toolkit.tool import END_CALL_TOOL

KICK_OFF = "Hello"
GREETING = "Hello, I am listening."
GO_ON = "Okay, please go on."
DONE = "All done."


class RecordedCallReference:
    """Makes the calls of a given plan once the caller has finished, or refuses where the facts say so.

    Args:
        plan: the steps as JSON: name and arguments.
        facts: ``user_turns`` (after how many the calls are made), ``refusal`` (what to say instead of calling) and
            ``one_by_one`` (each call waits for the result before).
    """

    def __init__(self, plan: Sequence[Mapping[str, Any]], facts: Mapping[str, Any]) -> None:
        self._calls = tuple(BrainCall(str(step["name"]), dict(step.get("arguments") or {})) for step in plan)
        self._turns = int(facts.get("user_turns") or 1)
        self._refusal = str(facts.get("refusal") or "")
        self._one_by_one = bool(facts.get("one_by_one"))

    def decide(self, messages: list[dict[str, object]], tools: list[str]) -> BrainReply:
        """Return the next words or calls; nothing while a call runs or before the caller was heard."""
        acts = read_acts(messages)
        heard = [act for act in acts if isinstance(act, Heard) and not _is_kick_off(act.text)]
        called = [act for act in acts if isinstance(act, Called)]
        if any(call.is_open for call in called) or not acts:
            return BrainReply()
        if not heard:
            return BrainReply(GREETING)
        if self._refusal:
            return BrainReply(self._refusal)
        if len(heard) < self._turns and not called:
            return BrainReply(GO_ON)
        left = self._calls[len(called) :]
        return BrainReply(calls=left[:1] if self._one_by_one else left) if left else BrainReply(DONE)


class Silent:
    """Hears everything, says nothing and calls nothing."""

    def decide(self, messages: list[dict[str, object]], tools: list[str]) -> BrainReply:
        """Return nothing."""
        return BrainReply()


class EveryTool:
    """Calls each of its tools once without arguments as soon as it has heard something."""

    def decide(self, messages: list[dict[str, object]], tools: list[str]) -> BrainReply:
        """Return all calls at once, then a few words."""
        acts = read_acts(messages)
        called = [act for act in acts if isinstance(act, Called)]
        if any(call.is_open for call in called) or not acts:
            return BrainReply()
        if not any(isinstance(act, Heard) and not _is_kick_off(act.text) for act in acts):
            return BrainReply(GREETING)
        if called:
            return BrainReply(DONE)
        return BrainReply(calls=tuple(BrainCall(name, {}) for name in tools if name != END_CALL_TOOL))


def _is_kick_off(text: str) -> bool:
    return text.strip(" .!").lower() == KICK_OFF.lower()
