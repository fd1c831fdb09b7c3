"""The words of every call, whatever its domain: asking again, thanking, parting."""

from __future__ import annotations

from enum import StrEnum

from duologue.toolkit.vocabulary import Vocabulary


class Courtesy(StrEnum):
    """What the other side can say that is not about the domain."""

    GREETING = "greeting"
    AGAIN = "again"
    ANYTHING_ELSE = "anything_else"
    GOODBYE = "goodbye"
    WAIT = "wait"


AGENT_COURTESIES: dict[Courtesy, tuple[str, ...]] = {
    Courtesy.GREETING: (
        "Hello, thank you for calling.",
        "How can I help you today?",
        "What can I do for you?",
        "How may I assist you?",
        "Please tell me what the problem is.",
        "What seems to be the problem?",
    ),
    Courtesy.AGAIN: (
        "What did you say? Please repeat it.",
        "Could you please repeat that?",
        "Please say that again.",
        "I did not understand your answer.",
        "Are you still there?",
    ),
    Courtesy.ANYTHING_ELSE: (
        "Is there anything else that I can help you with?",
        "Is there anything else I can do for you?",
        "Can I help you with anything else today?",
        "Has this solved your problem?",
        "Is everything working now?",
    ),
    Courtesy.GOODBYE: ("Thank you for calling. Goodbye.", "Have a nice day. Goodbye.", "Goodbye."),
    Courtesy.WAIT: (
        "One moment please.",
        "Please hold the line.",
        "Let me look that up for you.",
        "I will transfer you to a colleague.",
    ),
}
"""What an agent says, as its caller knows it."""

CALLER_AGAIN: tuple[str, ...] = (
    "Sorry, could you repeat the question please?",
    "I am afraid I did not get that. Please repeat the question.",
    "Pardon me, please ask me once more.",
)
"""How our caller asks an agent to repeat itself."""

CALLER_NOTHING_DONE = "I have not done anything yet. What do you want me to do?"
"""What our caller says when it is asked for an answer but never understood the request."""

CALLER_WAITS = "Alright."
CALLER_DONE = "No, that is all. Thank you very much. Goodbye."
CALLER_NOT_HAPPY = "No. It still does not work, but thank you for trying. Goodbye."
CALLER_FAILED = "That did not work."
CALLER_UNKNOWN_RESULT = "I did what you asked, but my screen shows no answer."
CALLER_GIVES_UP = "I am sorry, I can not hear you well. I will call again later. Goodbye."

AGENT_AGAIN: tuple[str, ...] = (
    "What did you say? Please repeat it.",
    "I did not understand your answer. Could you please repeat that?",
)
"""How our agent asks its caller to repeat itself."""

AGENT_STILL_THERE = "Are you still there? Please say that again."
AGENT_ANYTHING_ELSE = "Thank you. Is there anything else that I can help you with?"
AGENT_CLOSING = "Thank you for calling. Goodbye."


def caller_failure(vocabulary: Vocabulary) -> str:
    """Return how our caller begins to say that a tool refused, up to the words of its device."""
    return f"{CALLER_FAILED} My {vocabulary.device} says" if vocabulary.device else CALLER_FAILED
