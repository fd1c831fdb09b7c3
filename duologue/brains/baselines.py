"""Agents that do nothing right: they prove that scoring can fail."""

from __future__ import annotations

from duologue.brains.reply import BrainCall, BrainReply
from duologue.toolkit.tool import END_CALL_TOOL

_GREETING = "Hello, thank you for calling. We are not able to help today. Goodbye."


class DoNothing:
    """Greets and hangs up, whatever it hears."""

    def decide(self, messages: list[dict[str, object]], tools: list[str]) -> BrainReply:
        """Return the greeting and the call that ends the conversation, once; silence afterwards."""
        if any(message.get("role") == "assistant" for message in messages):
            return BrainReply()
        return BrainReply(_GREETING, (BrainCall(END_CALL_TOOL, {}),))
