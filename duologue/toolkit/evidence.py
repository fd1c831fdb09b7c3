"""What a check looks at: a trace, what it proves, and what a judge said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from duologue.records.action import RecordedAction, Side
from duologue.records.event import CallEnded, ResourceSnapshot
from duologue.records.judge import JudgeResult
from duologue.records.judgement import JudgeReply
from duologue.records.outcome import Cause
from duologue.records.scenario import Scenario
from duologue.toolkit.dual_state import DualState, GoldReplay
from duologue.toolkit.utterances import Deed
from duologue.trace.reader import Trace

MAX_DIFFERENCES = 20
"""How many differing leaves an explanation lists."""


class ScoringMode(StrEnum):
    """``DUOLOGUE``: exact comparison, every gate needs evidence. ``REFERENCE``: the reference harness's rules."""

    DUOLOGUE = "duologue"
    REFERENCE = "reference"


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that keeps an attempt from being evaluated."""

    cause: Cause
    detail: str


@dataclass(frozen=True, slots=True)
class AppliedAction:
    """An accepted write: which side, what, and where in the trace."""

    seq: int
    side: Side
    action: RecordedAction


@dataclass(frozen=True, slots=True)
class FinalDb:
    """One side's database after the call. ``db`` is None when nobody reported it; ``missing`` says why."""

    db: dict[str, Any] | None
    reported_hash: str | None = None
    missing: str = ""
    seqs: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ResourceStates:
    """What the attempt's clone of a resource held before the call and after it; ``final`` is None in a call cut off."""

    initial: ResourceSnapshot
    final: ResourceSnapshot | None


@dataclass(frozen=True, slots=True)
class Answers:
    """What a judge has said to the questions of one check so far.

    ``has_judge`` is False when nobody can be asked (no judge was wanted): then there is no reply.
    """

    has_judge: bool = False
    replies: tuple[JudgeReply, ...] = ()

    def reply(self, name: str) -> JudgeReply | None:
        """Return the reply to the question ``name``, or None when it was not asked yet."""
        return next((reply for reply in self.replies if reply.name == name), None)


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything that a check looks at.

    Args:
        trace: the attempt, event by event.
        mode: whose rules count.
        initial: both sides before the call; None when the trace does not hold it.
        gold: where the reference solution ends; None when ``gold_problem`` says why.
        final: each side's database after the call.
        actions: accepted writes, in order.
        problems: what contradicts or is missing, whatever the checks say.
        deeds: utterances, heard texts, tool calls, their results and requests to end, in order.
        judge: the engine's own question about the attempt and its answer; None without a judge.
        answers: what a judge said to this check's own questions.
        resources: what the clones of the domain's resources held, by the resource's name; empty when there were none.
    """

    trace: Trace
    mode: ScoringMode
    initial: DualState | None
    gold: GoldReplay | None
    gold_problem: str
    final: dict[Side, FinalDb]
    actions: tuple[AppliedAction, ...]
    problems: tuple[Problem, ...]
    deeds: tuple[Deed, ...]
    judge: JudgeResult | None = None
    answers: Answers = Answers()
    resources: Mapping[str, ResourceStates] = field(default_factory=dict)

    @property
    def scenario(self) -> Scenario:
        """The scenario of the trace."""
        return self.trace.header.scenario

    @property
    def ended(self) -> CallEnded | None:
        """The event that ended the call, if it is there."""
        return self.trace.last(CallEnded)

    def sides(self) -> tuple[Side, ...]:
        """The sides that have a database in this scenario."""
        return (Side.AGENT, Side.USER) if self.scenario.has_user_state else (Side.AGENT,)
