"""What a scripted model is asked, what it answers, and the faults that can be put in the way."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

BAD_CALL = "bad_"
"""Begins the id of a tool call that a fault has put in; competent scripts look past those."""

MISSING_TOOL = "open_the_ticket_archive"
"""The tool that no scenario has."""


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One tool call. ``arguments`` is the JSON text as the model writes it, right or wrong."""

    name: str
    arguments: str = "{}"
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class ModelReply:
    """What a model says in one request: reasoning beside the content, content, parallel tool calls."""

    text: str = ""
    calls: tuple[ModelCall, ...] = ()
    reasoning: str = ""
    finish_reason: str = ""


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request as the server got it. ``number`` counts the requests for this model, from 1; a probe has 0."""

    number: int
    model: str
    messages: list[dict[str, Any]]
    tools: list[str]
    epoch: str
    is_stream: bool
    authorization: str
    body: dict[str, Any] = field(repr=False)


Answer = Callable[[ChatRequest], ModelReply]


class FaultKind(StrEnum):
    """What can go wrong with a model."""

    TOO_MANY = "429"
    SERVER_ERROR = "500"
    HANG = "hang"
    CUT = "cut"
    SLOW = "slow"
    MALFORMED = "malformed"
    UNKNOWN_TOOL = "unknown_tool"


_FAULT = re.compile(
    rf"(?P<kind>{'|'.join(FaultKind)})(?:=(?P<seconds>\d+(?:\.\d+)?))?@(?P<first>\d+)(?:x(?P<times>\d+))?(?:/(?P<model>.+))?"
)


@dataclass(frozen=True, slots=True)
class ModelFault:
    """A fault of the requests ``first`` to ``first + times - 1`` of a model; of every model when it names none.

    ``seconds`` is the ``Retry-After`` of a 429, and the wait before the first token of a slow reply. A malformed call
    waits for the first reply that holds a call.
    """

    kind: FaultKind
    first: int
    times: int = 1
    seconds: float | None = None
    model: str = ""

    def strikes(self, request: ChatRequest) -> bool:
        """Whether this request is hit."""
        if self.model and request.model.partition(":")[0] != self.model:
            return False
        return self.first <= request.number < self.first + self.times


def parse_fault(text: str) -> ModelFault:
    """Return the fault in ``KIND[=SECONDS]@REQUEST[xTIMES][/MODEL]``, for example ``429=0.1@3x2/reference``.

    Raises:
        ValueError: the text is not of that form.
    """
    found = _FAULT.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not KIND[=SECONDS]@REQUEST[xTIMES][/MODEL] with KIND of {', '.join(FaultKind)}")
    seconds = float(found["seconds"]) if found["seconds"] else None
    return ModelFault(
        FaultKind(found["kind"]), int(found["first"]), int(found["times"] or 1), seconds, found["model"] or ""
    )


def scripted(replies: Sequence[ModelReply]) -> Answer:
    """Return a model that gives these replies one after the other, and then says nothing more."""
    rest = list(replies)
    return lambda request: rest.pop(0) if rest else ModelReply()


def spoiled(reply: ModelReply, kind: FaultKind, number: int) -> ModelReply:
    """Return what a model says instead when it writes a call wrongly or makes up a tool."""
    call_id = f"{BAD_CALL}{number}"
    if kind is FaultKind.UNKNOWN_TOOL:
        return ModelReply(calls=(ModelCall(MISSING_TOOL, '{"query": "caller"}', call_id),))
    first, *others = reply.calls
    broken = ModelCall(first.name, first.arguments.rstrip("}") + ', "note": "unfinished', call_id)
    return ModelReply(calls=(broken, *others), reasoning=reply.reasoning)


def without_bad_calls(messages: Sequence[dict[str, Any]]) -> list[dict[str, object]]:
    """Return a chat without the calls that faults have put in, and without their results."""
    kept = []
    for message in messages:
        if str(message.get("tool_call_id") or "").startswith(BAD_CALL):
            continue
        calls = message.get("tool_calls")
        if calls:
            good = [call for call in calls if not str(call.get("id") or "").startswith(BAD_CALL)]
            if not good and not message.get("content"):
                continue
            message = {**message, "tool_calls": good}
        kept.append(message)
    return kept
