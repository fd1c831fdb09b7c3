"""How an attempt ended, how it scored, and why."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import Field

from duologue.records.record import Record

__all__ = ["Cause", "EvidenceSource", "Outcome", "OutcomeKind", "StopReason", "Verdict"]


class StopReason(StrEnum):
    """Why a call ended; apart from how it scored.

    ``CALLER_DONE``: a frozen caller had said everything and the agent had time to answer, or the caller hung up: a
    simulated one through its tool, a person by the button.
    """

    EXIT = "[EXIT]"
    CALLER_DONE = "[CALLER_DONE]"
    TIMEOUT = "[TIMEOUT]"
    BOT_LOST = "[BOT_LOST]"
    FAULT = "[FAULT]"
    INTERRUPTED = "[INTERRUPTED]"
    NOT_STARTED = "[NOT_STARTED]"


class Cause(StrEnum):
    """Why an attempt is not evaluable."""

    TRANSPORT = "transport"
    INIT = "init"
    SYNC = "sync"
    JUDGE = "judge"
    USER_SIM = "user_sim"
    HARNESS = "harness"


class EvidenceSource(StrEnum):
    """Whose word one side's final database and writes are.

    ``HARNESS``: the harness ran the tools on a database of its own. ``DIGEST``: the bot reported them, and its exact
    digests agreed with the harness's shadow after every change. ``HASH``: reported, and the hash of the final database
    agreed. ``SELF_REPORTED``: reported, and there was nothing to compare. ``CONTRADICTED``: reported, and the shadow
    says otherwise; such an attempt is not evaluable (``sync``). ``NONE``: nobody reported anything.
    """

    HARNESS = "harness"
    DIGEST = "digest"
    HASH = "hash"
    SELF_REPORTED = "self_reported"
    CONTRADICTED = "contradicted"
    NONE = "none"


class OutcomeKind(StrEnum):
    """The three results of an attempt."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_EVALUABLE = "not_evaluable"


class Verdict(Record):
    """The result of one signal.

    ``passed`` is None when the signal does not apply or could not be computed; ``evaluable`` tells the
    two apart (False: the evidence it needs is missing). ``evidence`` says what was expected, what was
    found, and where in the trace (``seq`` numbers). ``cause`` says why a signal is not evaluable.
    ``holds_initially``: the same check also passes on the initial state, so it asks for nothing by itself.
    """

    signal: str
    version: int
    passed: bool | None
    evaluable: bool = True
    score: float | None = None
    reason: str = ""
    evidence: dict[str, Any] = Field(default_factory=dict)
    cause: Cause | None = None
    holds_initially: bool = False


class Outcome(Record):
    """The result of an attempt, with the cause when it is not evaluable."""

    kind: OutcomeKind
    cause: Cause | None = None
    detail: str = ""
