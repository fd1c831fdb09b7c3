"""What a judge was asked about an attempt, and what it answered."""

from __future__ import annotations

from duologue.records.record import Record


class JudgeQuestion(Record):
    """One request to the judge. ``name`` tells the questions of an attempt apart; the reply is JSON text."""

    name: str
    system: str
    user: str


class JudgeReply(Record):
    """The judge's answer to the question ``name``: the text as it came, or why there is none."""

    name: str
    text: str = ""
    error: str = ""


class Judgement(Record):
    """Everything a judge said about one attempt; its absence means that no judge was wanted."""

    model: str
    replies: tuple[JudgeReply, ...] = ()

    def reply(self, name: str) -> JudgeReply | None:
        """Return the reply to the question ``name``, or None when it was not asked or not answered."""
        return next((reply for reply in self.replies if reply.name == name), None)
