"""A brain of one's own: it takes a message, looks up an account when it hears a number, and hangs up on a goodbye.

In a bot's configuration:

    llm:
      type: own_brain:Receptionist
      settings: {greeting: "Front desk, how can I help?"}
"""

from __future__ import annotations

import re
from typing import Any

from duologue.brains.brain import BrainCall, BrainReply

HANG_UP = "EndConversationTool"


class Receptionist:
    """Decides from the chat messages alone, so that a repeated call goes the same way.

    A new one is made for each scenario. ``begin``, which may be left out, gets what the scenario tells this side.
    """

    def __init__(self, *, greeting: str, lookup_tool: str = "find_account") -> None:
        self._greeting = greeting
        self._lookup_tool = lookup_tool
        self._facts: dict[str, Any] = {}

    def begin(self, payload: dict[str, Any]) -> None:
        self._facts = payload.get("facts") or {}

    def decide(self, messages: list[dict[str, Any]], tools: list[str]) -> BrainReply:
        last = messages[-1]
        if last["role"] == "tool":
            return BrainReply(f"I found this: {last['content']}")
        said = [message["content"] for message in messages if message["role"] == "user"]
        if len(said) <= 1:
            return BrainReply(self._greeting)
        if "goodbye" in said[-1].lower() and HANG_UP in tools:
            return BrainReply("Goodbye.", calls=(BrainCall(HANG_UP, {}),))
        number = re.search(r"\d{3}-?\d{3}-?\d{4}", said[-1])
        if number and self._lookup_tool in tools:
            return BrainReply(calls=(BrainCall(self._lookup_tool, {"phone": number.group()}),))
        return BrainReply(f"I will tell {self._facts.get('owner', 'the manager')} what you said.")
