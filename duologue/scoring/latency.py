"""Response latency: from the end of the user's speech to the start of the agent's, on the recording.

Both edges are those of :mod:`duologue.audio.edges` in media time, so neither the network nor a bot's own
report of speaking enters. A delay of the line does: the agent's speech starts when it arrives at the caller. Only the
agent's first turn after a user turn answers it. An answer that starts before the user has finished has no latency; it
is counted as early.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from duologue.records.action import Side
from duologue.records.result import LatencyReport, LatencyStats, Percentiles, ResponseLatency, Turn


def measure_latency(turns: Sequence[Turn], *, measured: bool) -> LatencyReport:
    """Return the latencies of turns in order of their start; nothing when there is no recording."""
    if not measured:
        return LatencyReport()
    responses, early, unanswered = [], 0, 0
    waiting: Turn | None = None
    for turn in turns:
        if turn.side is Side.USER:
            unanswered += waiting is not None
            waiting = turn
        elif waiting is not None:
            if turn.start_ms < waiting.end_ms:
                early += 1
            else:
                responses.append(_response(waiting, turn))
            waiting = None
    unanswered += waiting is not None
    values = [response.latency_ms for response in responses]
    return LatencyReport(
        measured=True,
        responses=tuple(responses),
        early=early,
        unanswered=unanswered,
        stats=contract_stats(values),
        percentiles=percentiles(values),
    )


def _response(user: Turn, agent: Turn) -> ResponseLatency:
    return ResponseLatency(
        user_text=user.text,
        agent_text=agent.text,
        user_end_ms=user.end_ms,
        agent_start_ms=agent.start_ms,
        latency_ms=agent.start_ms - user.end_ms,
    )


def contract_stats(values: Sequence[float], *, empty: float = 0.0) -> LatencyStats:
    """Return the contract's statistics in milliseconds; every figure is ``empty`` when there are no values."""
    if not values:
        return LatencyStats(mean_ms=empty, p50_ms=empty, p95_ms=empty, min_ms=empty, max_ms=empty)
    ordered = sorted(values)
    count = len(ordered)
    return LatencyStats(
        count=count,
        mean_ms=math.fsum(ordered) / count,
        p50_ms=ordered[count // 2],
        p95_ms=ordered[int(0.95 * count)],
        min_ms=ordered[0],
        max_ms=ordered[-1],
    )


def percentiles(values: Sequence[float]) -> Percentiles:
    """Return linearly interpolated percentiles in milliseconds."""
    if not values:
        return Percentiles()
    ordered = sorted(values)
    return Percentiles(
        p50_ms=_percentile(ordered, 50),
        p90_ms=_percentile(ordered, 90),
        p95_ms=_percentile(ordered, 95),
        p99_ms=_percentile(ordered, 99),
    )


def _percentile(ordered: Sequence[float], percent: int) -> float:
    position = (len(ordered) - 1) * percent / 100
    low = math.floor(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)
