"""Tables of a run: for the terminal, and as plain text."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from duologue.records.aggregate import GroupAggregate, Rate, RunAggregate
from duologue.records.outcome import OutcomeKind
from duologue.records.result import ScenarioResult
from duologue.records.shown import one_line

_STYLES = {OutcomeKind.PASSED: "green", OutcomeKind.FAILED: "red", OutcomeKind.NOT_EVALUABLE: "yellow"}
_COLUMNS = ("scenario", "outcome", "turns", "media", "latency p50", "signals passed", "why")
_NUMERIC = ("turns", "media", "latency p50")


def render_table(results: Sequence[ScenarioResult]) -> Table:
    """Return the table that ends a run: one row for each attempt."""
    table = Table(title="Results", title_justify="left")
    for name in _COLUMNS:
        table.add_column(name, justify="right" if name in _NUMERIC else "left", overflow="fold")
    for result in results:
        row = _row(result)
        table.add_row(Text(row[0]), Text(row[1], style=_STYLES[result.outcome.kind]), *map(Text, row[2:]))
    return table


def render_rates(aggregate: RunAggregate) -> Table:
    """Return the table of rates: everything, then each prefix and family."""
    table = Table(title="Rates over evaluable attempts (95 % interval)", title_justify="left")
    for name in ("group", "attempts", "passed", "task", "evaluable", "latency p50 / p95"):
        table.add_column(name, justify="left" if name == "group" else "right", overflow="fold")
    for name, group in _groups(aggregate):
        table.add_row(Text(name), *_rate_row(group))
    return table


def render_text(results: Sequence[ScenarioResult], aggregate: RunAggregate) -> str:
    """Return the summary of a run as plain text: totals, rates, signals, tokens, then every attempt."""
    overall = aggregate.overall
    lines = [
        f"attempts    {overall.attempts}",
        *(f"  {kind:<16}{count}" for kind, count in overall.outcomes.items()),
        *(f"    cause {cause:<10}{count}" for cause, count in overall.causes.items()),
        f"scored as   {', '.join(aggregate.scored_as) or '-'}",
        "",
    ]
    for name, group in _groups(aggregate):
        lines += _group_lines(name, group)
    for result in results:
        lines += _result_lines(result)
    return "\n".join(lines).rstrip() + "\n"


def _groups(aggregate: RunAggregate) -> list[tuple[str, GroupAggregate]]:
    """Return everything, then prefixes and families where there are several to tell apart, then lines."""
    groups = [("all", aggregate.overall)]
    for part in (aggregate.prefixes, aggregate.families):
        groups += part.items() if len(part) > 1 else []
    return groups + [(f"line {name}", group) for name, group in aggregate.lines.items()]


def _group_lines(name: str, group: GroupAggregate) -> list[str]:
    latency = group.latency
    repeats = [
        f"  repeated k={rate.k:<9}pass@k {_share(rate.pass_at)}, pass^k {_share(rate.pass_hat)} "
        f"({rate.scenarios} scenarios, {rate.left_out} left out)"
        for rate in group.repeats
    ]
    lines = [
        f"[{name}]",
        f"  successful          {_rate(group.success)}",
        f"  task successful     {_rate(group.task_success)}",
        f"  evaluable           {_rate(group.evaluability)}",
        *repeats,
        *(f"  {signal:<20}{_rate(rate)}" for signal, rate in group.signals.items()),
        f"  faithful caller     {_rate(group.caller)}",
        *(f"    {check:<18}{_rate(rate)}" for check, rate in group.caller_checks.items() if rate.passed < rate.total),
        *(f"  reported {name:<11}{_rate(rate)}" for name, rate in group.reports.items()),
    ]
    stats = latency.stats
    figures = f"n {stats.count}, mean {stats.mean_ms:.0f}, p50 {stats.p50_ms:.0f}, p95 {stats.p95_ms:.0f}"
    extremes = f"min {stats.min_ms:.0f}, max {stats.max_ms:.0f}"
    odd = f"early {latency.early}, unanswered {latency.unanswered}"
    lines.append(f"  latency ms          {f'{figures}, {extremes}; {odd}' if stats.count else 'not measured'}")
    for side, use in group.tokens.items():
        lines.append(f"  tokens {side.value:<13}calls {use.n_calls}, prompt {use.prompt}, completion {use.completion}")
    return [*lines, ""]


def _result_lines(result: ScenarioResult) -> list[str]:
    line = "" if result.line.is_clean else f", line {result.line.name}"
    lines = [f"{result.scenario} (attempt {result.attempt}{line}): {_outcome(result)}"]
    if result.outcome.detail:
        lines.append(f"  why     {one_line(result.outcome.detail)}")
    lines.append(
        f"  call    {result.stop_reason or 'never started'}, {_clock(result.media_ms)}, "
        f"{len(result.conversation.turns)} turns, {len(result.conversation.interruptions)} interruptions"
    )
    for verdict in result.verdicts:
        if verdict.passed is not None or not verdict.evaluable:
            state = {True: "passed", False: "failed", None: "not evaluable"}[verdict.passed]
            gate = " (does not gate)" if verdict.signal in result.breakdown.excluded else ""
            reason = f": {one_line(verdict.reason)}" if verdict.reason else ""
            lines.append(f"  {verdict.signal:<18} {state}{gate}{reason}")
    for verdict in result.reports:
        state = {True: "passed", False: "failed", None: "not decided"}[verdict.passed]
        lines.append(f"  {verdict.signal:<18} {state} (reported): {one_line(verdict.reason)}")
    return [*lines, ""]


def _row(result: ScenarioResult) -> tuple[str, ...]:
    p50 = result.conversation.latency.percentiles.p50_ms
    return (
        result.scenario,
        _outcome(result),
        str(len(result.conversation.turns)),
        _clock(result.media_ms),
        "–" if p50 is None else f"{p50:.0f} ms",
        ", ".join(result.breakdown.passed) or "–",
        one_line(result.outcome.detail),
    )


def _outcome(result: ScenarioResult) -> str:
    if result.outcome.cause is not None:
        return f"not evaluable ({result.outcome.cause})"
    return result.outcome.kind.value.replace("_", " ")


def _rate_row(group: GroupAggregate) -> tuple[str, ...]:
    p50, p95 = group.latency.percentiles.p50_ms, group.latency.percentiles.p95_ms
    latency = f"{p50:.0f} / {p95:.0f} ms" if p50 is not None and p95 is not None else "–"
    return str(group.attempts), _rate(group.success), _rate(group.task_success), _rate(group.evaluability), latency


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"


def _rate(rate: Rate) -> str:
    if rate.rate is None or rate.low is None or rate.high is None:
        return "–"
    return f"{rate.passed}/{rate.total} = {rate.rate:.1%} [{rate.low:.1%}, {rate.high:.1%}]"


def _clock(media_ms: int) -> str:
    minutes, seconds = divmod(media_ms // 1000, 60)
    return f"{minutes}:{seconds:02d}"
