"""Who watches a run: the interface between the runner and whatever shows its progress."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from duologue.records.event import Event
from duologue.records.result import ScenarioResult
from duologue.records.scenario import Scenario


class RunObserver(Protocol):
    """Is told what happens, in order, on the runner's loop; must not block."""

    def run_started(self, run_dir: Path, total: int) -> None:
        """The run directory exists; ``total`` scenarios will be run."""

    def scenario_started(self, number: int, scenario: Scenario) -> None:
        """The attempt ``number`` (from 1) begins."""

    def event_written(self, event: Event) -> None:
        """An event of the running attempt was appended to its trace."""

    def ticked(self, media_ms: int) -> None:
        """The running call has reached ``media_ms`` of media time."""

    def scenario_finished(self, result: ScenarioResult, folder: Path) -> None:
        """The attempt is scored and its files are written."""


class SilentObserver:
    """Shows nothing."""

    def run_started(self, run_dir: Path, total: int) -> None:
        """Ignore."""

    def scenario_started(self, number: int, scenario: Scenario) -> None:
        """Ignore."""

    def event_written(self, event: Event) -> None:
        """Ignore."""

    def ticked(self, media_ms: int) -> None:
        """Ignore."""

    def scenario_finished(self, result: ScenarioResult, folder: Path) -> None:
        """Ignore."""
