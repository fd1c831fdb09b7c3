"""What ``--list`` and ``--list-domains`` print."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from duologue.records.scenario import Scenario
from duologue.records.shown import one_line
from duologue.runner.selection import count_by_prefix


def print_names(console: Console, scenarios: Sequence[Scenario]) -> None:
    """Print one scenario name a line."""
    for scenario in scenarios:
        _print_line(console, scenario.name)


def print_domains(console: Console, scenarios: Sequence[Scenario]) -> None:
    """Print one ``prefix count`` a line."""
    for prefix, count in count_by_prefix(scenarios).items():
        _print_line(console, f"{prefix} {count}")


def _print_line(console: Console, line: str) -> None:
    console.print(one_line(line), markup=False, highlight=False, soft_wrap=True)
