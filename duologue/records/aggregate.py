"""Figures over many attempts."""

from __future__ import annotations

from typing import Any

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from duologue.records.action import Side
from duologue.records.record import Record
from duologue.records.result import LatencyStats, Percentiles, TokenUse


class Rate(Record):
    """``passed`` of ``total``, with the Wilson 95 % interval; None where ``total`` is 0."""

    passed: int
    total: int
    rate: float | None = None
    low: float | None = None
    high: float | None = None


class LatencySummary(Record):
    """Response latencies of all attempts together. ``stats`` are -1 without a measurement."""

    stats: LatencyStats
    percentiles: Percentiles
    early: int
    unanswered: int


class RepeatRate(Record):
    """Repeated scenarios: ``pass_at`` is pass@k (any of k trials), ``pass_hat`` is pass^k (all of k trials).

    Both are means over ``scenarios`` with at least ``k`` evaluable trials, None without any. ``left_out``: scenarios
    that were run as often, but with fewer evaluable attempts.
    """

    k: int
    scenarios: int
    left_out: int
    pass_at: float | None
    pass_hat: float | None


class GroupAggregate(Record):
    """Figures over one group of attempts.

    ``success`` and ``task_success`` are over evaluable attempts, ``evaluability`` over all. ``signals``:
    over evaluable attempts with enough turns; predicates are counted for ``db_state_assertion`` and
    statements for ``nl_assertion``, attempts for every other signal. ``caller``: attempts whose simulated caller did
    its part, over those in which it was checked; ``caller_checks`` the same for each check.
    ``reports``: checks that decide nothing, over the attempts in which they said yes or no; left out without any.
    """

    attempts: int
    outcomes: dict[str, int]
    causes: dict[str, int]
    success: Rate
    task_success: Rate
    evaluability: Rate
    signals: dict[str, Rate]
    caller: Rate = Rate(passed=0, total=0)
    caller_checks: dict[str, Rate] = Field(default_factory=dict)
    latency: LatencySummary
    interruptions: int
    media_ms: int
    tokens: dict[Side, TokenUse]
    repeats: tuple[RepeatRate, ...] = ()
    reports: dict[str, Rate] = Field(default_factory=dict)

    @model_serializer(mode="wrap")
    def _without_unused(self, handler: SerializerFunctionWrapHandler) -> dict[str, object]:
        data: dict[str, Any] = handler(self)
        return {key: value for key, value in data.items() if key != "reports" or value}


class RunAggregate(Record):
    """Figures of a run: over everything, per prefix, per prefix and family, and per line.

    ``lines`` is left out of a run that was clean throughout.
    """

    overall: GroupAggregate
    prefixes: dict[str, GroupAggregate] = Field(default_factory=dict)
    families: dict[str, GroupAggregate] = Field(default_factory=dict)
    lines: dict[str, GroupAggregate] = Field(default_factory=dict)
    scored_as: tuple[str, ...] = ()

    @model_serializer(mode="wrap")
    def _without_unused(self, handler: SerializerFunctionWrapHandler) -> dict[str, object]:
        data: dict[str, object] = handler(self)
        return {key: value for key, value in data.items() if key != "lines" or value}
