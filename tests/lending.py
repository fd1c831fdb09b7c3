"""The library domain of the tests, and attempts at its scenarios."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from duologue.clock import Clock, SystemClock
from duologue.records.event import ResourceSnapshot
from duologue.records.result import ScenarioResult
from duologue.records.scenario import CatalogueOptions, Scenario
from duologue.registry import load_domain
from duologue.runner.attempt import Attempt, AttemptRunner, Calls
from duologue.runner.observer import RunObserver, SilentObserver
from duologue.runner.rescoring import rescore_folder
from duologue.runner.settings import RunSettings
from duologue.toolkit.rules import CATALOGUES, RULES_NAME
from duologue.trace.reader import Trace, load_trace

ROOT = Path(__file__).parent / "library_domain"
DOMAIN = "lending"
BEFORE = {"whales": {"due_day": 10, "renewals": 0}, "stars": {"due_day": 12, "renewals": 1}}
RIGHT = {"whales": {"due_day": 25, "renewals": 1}, "stars": {"due_day": 12, "renewals": 1}}


@dataclass(frozen=True)
class Done:
    """An attempt that is over; ``again`` is its result, scored a second time from what is stored."""

    result: ScenarioResult
    trace: Trace
    folder: Path
    again: ScenarioResult

    @property
    def verdict(self) -> bool | None:
        """What the gating check of the domain says."""
        return next(item.passed for item in self.result.verdicts if item.signal == "loans_right")

    @property
    def reported(self) -> dict[str, bool | None]:
        """What is reported beside the verdict."""
        return {item.signal: item.passed for item in self.result.reports}

    @property
    def held(self) -> dict[str, object]:
        """What the clone held, by moment."""
        return {item.moment: item.data for item in self.trace.of(ResourceSnapshot)}


@contextmanager
def lending_scenarios() -> Iterator[dict[str, Scenario]]:
    """Load the domain the way a user's own is loaded; yield its scenarios by task id."""
    packages = [importlib.import_module(name) for name in ("scenarios", "tools", "sync")]
    paths = [list(package.__path__) for package in packages]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DUOLOGUE_DOMAINS", str(ROOT))
        load_domain(DOMAIN)
        scenarios = CATALOGUES.get(DOMAIN, RULES_NAME).load(CatalogueOptions())
        yield {scenario.task_id: scenario for scenario in scenarios}
    for package, before in zip(packages, paths, strict=True):
        package.__path__[:] = before


async def run_attempt(
    folder: Path,
    scenario: Scenario,
    calls: Calls,
    settings: RunSettings,
    clock: Clock | None = None,
    observer: RunObserver | None = None,
    number: int = 1,
) -> Done:
    """Run one attempt, then score it again from its folder."""
    results: list[ScenarioResult] = []
    runner = AttemptRunner(settings, clock or SystemClock(), observer or SilentObserver(), calls)
    await runner.run(Attempt(scenario, folder, run_id="run", number=number), results.append)
    return Done(results[0], load_trace(folder / "trace.jsonl"), folder, rescore_folder(folder))
