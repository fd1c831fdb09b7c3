"""What a judge was asked about an attempt, and what it answered."""

from __future__ import annotations

from typing import Any

from pydantic import SerializerFunctionWrapHandler, model_serializer

from duologue.records.record import Record


class JudgeQuestion(Record):
    """One request to the judge. ``name`` tells the questions of an attempt apart; the reply is JSON text."""

    name: str
    system: str
    user: str


class JudgeReply(Record):
    """The judge's answer to the question ``name``: the text as it came, or why there is none.

    ``check`` is who asked, empty for a graded check; ``round`` counts from 1. Both are left out when they say nothing.
    """

    name: str
    text: str = ""
    error: str = ""
    check: str = ""
    round: int = 1

    @model_serializer(mode="wrap")
    def _without_unused(self, handler: SerializerFunctionWrapHandler) -> dict[str, object]:
        data: dict[str, Any] = handler(self)
        return {key: value for key, value in data.items() if (key, value) not in (("check", ""), ("round", 1))}


class Judgement(Record):
    """Everything a judge said about one attempt; its absence means that no judge was wanted."""

    model: str
    replies: tuple[JudgeReply, ...] = ()

    def reply(self, name: str) -> JudgeReply | None:
        """Return the reply to the question ``name``, or None when it was not asked or not answered."""
        return next((reply for reply in self.replies if reply.name == name), None)
