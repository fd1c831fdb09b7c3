"""Figures of a run, as a pure function of its results."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from statistics import NormalDist

from duologue.records.action import Side
from duologue.records.aggregate import GroupAggregate, LatencySummary, Rate, RunAggregate
from duologue.records.outcome import OutcomeKind, Verdict
from duologue.records.result import ScenarioResult, TokenUse
from duologue.records.scenario import SignalName
from duologue.scoring.latency import contract_stats, percentiles
from duologue.scoring.repeats import repeat_rates

CONFIDENCE = 0.95  # the usual one

_ITEMS_OF = {SignalName.DB_STATE_ASSERTION.value: "verdicts", SignalName.NL_ASSERTION.value: "verdicts"}
"""Signals that are counted by their parts: under which key of the evidence the parts are."""


def aggregate_results(results: Sequence[ScenarioResult]) -> RunAggregate:
    """Return the figures of ``results``; the order of results does not matter."""
    return RunAggregate(
        overall=_group(results),
        prefixes=_grouped(results, lambda result: result.prefix),
        families=_grouped(
            [result for result in results if result.family], lambda result: f"{result.prefix}/{result.family}"
        ),
        lines=_by_line(results),
        scored_as=tuple(sorted({result.scored_as for result in results})),
    )


def _by_line(results: Sequence[ScenarioResult]) -> dict[str, GroupAggregate]:
    """Return the figures for each line by its name; lines that share a name are told apart by their digests."""
    if all(result.line.is_clean for result in results):
        return {}
    named = Counter(line.name for line in {result.line for result in results})

    def name_of(result: ScenarioResult) -> str:
        name = result.line.name
        return name if named[name] == 1 else f"{name} {result.line.digest[:8]}"

    return _grouped(results, name_of)


def wilson_interval(passed: int, total: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return the Wilson score interval of ``passed`` out of ``total`` (at least 1) as fractions."""
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    share = passed / total
    scale = 1 + z * z / total
    centre = (share + z * z / (2 * total)) / scale
    half = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total)) / scale
    low = 0.0 if passed == 0 else max(0.0, centre - half)
    high = 1.0 if passed == total else min(1.0, centre + half)
    return low, high


def rate_of(passed: int, total: int) -> Rate:
    """Return ``passed`` of ``total`` as a rate with its interval."""
    if total == 0:
        return Rate(passed=passed, total=0)
    low, high = wilson_interval(passed, total)
    return Rate(passed=passed, total=total, rate=passed / total, low=low, high=high)


def _grouped(results: Sequence[ScenarioResult], key: Callable[[ScenarioResult], str]) -> dict[str, GroupAggregate]:
    names = sorted({key(result) for result in results})
    return {name: _group([result for result in results if key(result) == name]) for name in names}


def _group(results: Sequence[ScenarioResult]) -> GroupAggregate:
    evaluable = [result for result in results if result.is_successful is not None]
    causes = Counter(result.outcome.cause.value for result in results if result.outcome.cause is not None)
    kinds = Counter(result.outcome.kind for result in results)
    tasks = [result.is_task_successful for result in evaluable if result.is_task_successful is not None]
    return GroupAggregate(
        attempts=len(results),
        outcomes={kind.value: kinds[kind] for kind in OutcomeKind},
        causes=dict(sorted(causes.items())),
        success=rate_of(kinds[OutcomeKind.PASSED], len(evaluable)),
        task_success=rate_of(sum(tasks), len(tasks)),
        evaluability=rate_of(len(evaluable), len(results)),
        signals=_signal_rates([result for result in evaluable if not result.insufficient_agent_turns]),
        caller=_caller_rate(results),
        caller_checks=_check_rates([verdict for result in results for verdict in result.caller]),
        latency=_latency(results),
        interruptions=sum(len(result.conversation.interruptions) for result in results),
        media_ms=sum(result.media_ms for result in results),
        tokens={side: _tokens([result.tokens.get(side, TokenUse()) for result in results]) for side in Side},
        repeats=repeat_rates(results),
        reports=_check_rates([verdict for result in results for verdict in result.reports]),
    )


def _signal_rates(results: Sequence[ScenarioResult]) -> dict[str, Rate]:
    counts: dict[str, list[int]] = {}
    for result in results:
        for verdict in result.verdicts:
            passed, total = _counted(verdict)
            if total:
                entry = counts.setdefault(verdict.signal, [0, 0])
                entry[0] += passed
                entry[1] += total
    return {name: rate_of(passed, total) for name, (passed, total) in sorted(counts.items())}


def _counted(verdict: Verdict) -> tuple[int, int]:
    if verdict.passed is None:
        return 0, 0
    parts = verdict.evidence.get(_ITEMS_OF.get(verdict.signal, ""))
    if not isinstance(parts, list):
        return int(verdict.passed), 1
    return sum(part.get("passed") is True for part in parts), len(parts)


def _caller_rate(results: Sequence[ScenarioResult]) -> Rate:
    checked = [result for result in results if result.caller]
    return rate_of(sum(all(item.passed is not False for item in result.caller) for result in checked), len(checked))


def _check_rates(found: Sequence[Verdict]) -> dict[str, Rate]:
    verdicts = [verdict for verdict in found if verdict.passed is not None]
    names = sorted({verdict.signal for verdict in verdicts})
    of = {name: [verdict.passed for verdict in verdicts if verdict.signal == name] for name in names}
    return {name: rate_of(sum(passed is True for passed in told), len(told)) for name, told in of.items()}


def _latency(results: Sequence[ScenarioResult]) -> LatencySummary:
    reports = [result.conversation.latency for result in results]
    values = [response.latency_ms for report in reports for response in report.responses]
    return LatencySummary(
        stats=contract_stats(values, empty=-1.0),
        percentiles=percentiles(values),
        early=sum(report.early for report in reports),
        unanswered=sum(report.unanswered for report in reports),
    )


def _tokens(uses: Sequence[TokenUse]) -> TokenUse:
    return TokenUse(
        n_calls=sum(use.n_calls for use in uses),
        prompt=sum(use.prompt for use in uses),
        completion=sum(use.completion for use in uses),
    )
