"""Showing a run while it runs, and its table at the end."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from duologue.cli.call_view import CallView, Score, clock_text, outcome_text
from duologue.clock import Clock
from duologue.records.action import Side
from duologue.records.event import Event, ToolCalled
from duologue.records.outcome import OutcomeKind
from duologue.records.result import ScenarioResult
from duologue.records.run_layout import ALL_SUMMARY, RECORDING
from duologue.records.scenario import Scenario
from duologue.records.shown import one_line, printable

PLAIN_WIDTH = 160  # columns of a table in a file or a pipe, which nothing wraps
_WIDE = 120
"""Columns from which on the table has room for reasons; in less they stand below it."""
_REFRESH_S = 0.25  # four times a second reads as live and costs nothing
_SHOWN_RECORDINGS = 12  # more paths push the table off the screen; the folder is named instead
_STYLES = {OutcomeKind.PASSED: "green", OutcomeKind.FAILED: "red", OutcomeKind.NOT_EVALUABLE: "yellow"}


class PlainProgress:
    """One line at the start and at the end of each scenario; with ``verbosity`` also utterances and tools."""

    def __init__(self, console: Console, clock: Clock, verbosity: int = 0) -> None:
        self._console = console
        self._clock = clock
        self._verbosity = verbosity
        self._total = 0
        self._label = ""
        self._started_s = 0.0
        self._view = CallView()
        self._score = Score()

    def run_started(self, run_dir: Path, total: int) -> None:
        """Print where the run is written."""
        self._total = total
        self._print(f"{total} scenario{'s' if total != 1 else ''} → {run_dir}")

    def scenario_started(self, number: int, scenario: Scenario) -> None:
        """Print the scenario's name."""
        self._view = CallView()
        self._label = f"[{number}/{self._total}] {_played(scenario)}"
        self._started_s = self._clock.monotonic()
        self._print(self._label)

    def event_written(self, event: Event) -> None:
        """Print what was said and which tool was called, when asked for."""
        uttered = self._view.see(event)
        if not self._verbosity:
            return
        at = clock_text(event.t_ms)
        if uttered:
            self._print(f"  {at} {uttered[0].value}: {uttered[1]}")
        elif isinstance(event, ToolCalled):
            self._print(f"  {at} {self._view.tool}")

    def ticked(self, media_ms: int) -> None:
        """Keep the media time."""
        self._view.media_ms = media_ms

    def scenario_finished(self, result: ScenarioResult, folder: Path) -> None:
        """Print the outcome and the running score."""
        self._score.add(result)
        wall_s = self._clock.monotonic() - self._started_s
        detail = f": {one_line(result.outcome.detail)}" if result.outcome.detail else ""
        self._print(
            f"{self._label} {outcome_text(result)}{detail} · {self._view.turns} turns, "
            f"{clock_text(result.media_ms)} in {wall_s:.0f} s · {self._score}"
        )

    def _print(self, line: str) -> None:
        self._console.print(printable(line), markup=False, highlight=False, soft_wrap=True)


class LiveProgress:
    """A panel that follows the running call, above it one line for each finished scenario."""

    def __init__(self, console: Console, clock: Clock) -> None:
        self._console = console
        self._clock = clock
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._view = CallView()
        self._score = Score()
        self._total = 0
        self._number = 0
        self._name = ""
        self._started_s = 0.0
        self._refreshed_s = 0.0

    def __enter__(self) -> LiveProgress:
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def run_started(self, run_dir: Path, total: int) -> None:
        """Print where the run is written."""
        self._total = total
        self._console.print(Text(f"{total} scenario{'s' if total != 1 else ''} → {run_dir}"))

    def scenario_started(self, number: int, scenario: Scenario) -> None:
        """Begin a new panel."""
        self._view = CallView()
        self._number, self._name = number, _played(scenario)
        self._started_s = self._clock.monotonic()
        self._refresh()

    def event_written(self, event: Event) -> None:
        """Take in the event; it shows at the next refresh."""
        self._view.see(event)

    def ticked(self, media_ms: int) -> None:
        """Redraw a few times a second."""
        self._view.media_ms = media_ms
        if self._clock.monotonic() - self._refreshed_s >= _REFRESH_S:
            self._refresh()

    def scenario_finished(self, result: ScenarioResult, folder: Path) -> None:
        """Print the outcome above the panel."""
        self._score.add(result)
        line = Text.assemble((f"{outcome_text(result):<14}", _STYLES[result.outcome.kind]), " ", attempt_name(result))
        self._console.print(line)
        self._refresh()

    def _refresh(self) -> None:
        self._refreshed_s = self._clock.monotonic()
        self._live.update(self.panel(), refresh=True)

    def panel(self) -> Table:
        """Return what the live panel shows now."""
        view = self._view
        wall_s = max(self._clock.monotonic() - self._started_s, 0.001)
        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="bold", no_wrap=True)
        grid.add_column(overflow="fold")
        grid.add_row(f"{self._number}/{self._total}", Text(self._name))
        speed = f"{view.media_ms / 1000 / wall_s:.1f}× real time"
        grid.add_row("time", Text(f"{clock_text(view.media_ms)} · {speed} · turn {view.turns}"))
        for side in Side:
            grid.add_row(side.value, Text(view.said.get(side, "")))
        grid.add_row("tool", Text(view.tool))
        grid.add_row("score", Text(str(self._score)))
        if view.fault:
            grid.add_row("fault", Text(view.fault, style="yellow"))
        return grid


def _played(scenario: Scenario) -> str:
    """Return a scenario's name, with its line unless that is clean."""
    return scenario.name if scenario.line.is_clean else f"{scenario.name} (line {scenario.line.name})"


def attempt_name(result: ScenarioResult) -> str:
    """Return a scenario's name, with the line unless it was clean, and the number of the trial from the second on."""
    notes = [] if result.line.is_clean else [f"line {result.line.name}"]
    notes += [] if result.attempt == 1 else [f"trial {result.attempt}"]
    return f"{result.scenario} ({', '.join(notes)})" if notes else result.scenario


def results_table(results: Sequence[ScenarioResult], *, with_reasons: bool = True) -> Table:
    """Return the final table: one row for each attempt."""
    table = Table(title="Results", title_justify="left")
    table.add_column("scenario", overflow="fold")
    table.add_column("outcome", no_wrap=True)
    for name in ("turns", "media", "latency p50"):
        table.add_column(name, justify="right", no_wrap=True)
    if with_reasons:
        table.add_column("why", overflow="fold")
    for result in results:
        p50 = result.conversation.latency.percentiles.p50_ms
        reason = [Text(one_line(result.outcome.detail))] if with_reasons else []
        table.add_row(
            Text(attempt_name(result)),
            Text(outcome_text(result), style=_STYLES[result.outcome.kind]),
            str(len(result.conversation.turns)),
            clock_text(result.media_ms),
            "–" if p50 is None else f"{p50:.0f} ms",
            *reason,
        )
    return table


def print_summaries(console: Console, summaries: Mapping[str, Mapping[str, object]]) -> None:
    """Print what domains say about the run, as one JSON object each."""
    for summary in summaries.values():
        text = json.dumps(summary, indent=2, ensure_ascii=False)
        console.print(text, markup=False, highlight=False, soft_wrap=True)


def print_final(console: Console, run_dir: Path, results: Sequence[ScenarioResult], folders: Sequence[Path]) -> None:
    """Print the table, the score, and where the run and its recordings are."""
    score = Score()
    for result in results:
        score.add(result)
    explained = [result for result in results if result.outcome.detail]
    is_wide = console.width >= _WIDE
    console.print(results_table(results, with_reasons=is_wide and bool(explained)))
    lines = [] if is_wide else [f"{attempt_name(result)}: {one_line(result.outcome.detail)}" for result in explained]
    lines += [str(score), f"run directory: {run_dir}", f"summary: {run_dir / ALL_SUMMARY}"]
    recordings = [folder / RECORDING for folder in folders if (folder / RECORDING).is_file()]
    if len(recordings) <= _SHOWN_RECORDINGS:
        lines += [f"recording: {path}" for path in recordings]
    else:
        lines.append(f"recordings: {len(recordings)} × {run_dir}/<scenario>/{RECORDING}")
    for line in lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)
