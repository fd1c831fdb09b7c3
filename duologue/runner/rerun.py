"""Which attempts of a stored run are run again: those that were not evaluable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from duologue.errors import ConfigError, TraceError
from duologue.records.conditions import LineConditions
from duologue.records.outcome import Cause, OutcomeKind
from duologue.records.run_layout import RESULT
from duologue.records.scenario import Scenario
from duologue.reports.run_files import StoredResult, load_results


@dataclass(frozen=True, slots=True)
class Rerun:
    """The attempts of the run in ``source`` that are run again; there is at least one."""

    source: Path
    stored: tuple[StoredResult, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The scenarios, each once."""
        return tuple(dict.fromkeys(item.result.scenario for item in self.stored))

    @property
    def trials(self) -> frozenset[tuple[str, int, LineConditions]]:
        """Scenario name, trial and line of each attempt."""
        return frozenset((item.result.scenario, item.result.attempt, item.result.line) for item in self.stored)

    def record(self, scenarios: Collection[str]) -> dict[str, Any]:
        """Return where the attempts at ``scenarios`` come from, for the record of the new run."""
        chosen = [item for item in self.stored if item.result.scenario in scenarios]
        return {
            "run_dir": str(self.source.resolve()),
            "run_ids": sorted({item.result.run_id for item in chosen}),
            "attempts": [
                {
                    "scenario": item.result.scenario,
                    "attempt": item.result.attempt,
                    "folder": item.folder.name,
                    "cause": item.result.outcome.cause,
                    **({} if item.result.line.is_clean else {"line": item.result.line.name}),
                }
                for item in chosen
            ],
        }


def load_rerun(run_dir: Path, causes: Sequence[Cause] = ()) -> Rerun:
    """Return the attempts of a stored run that were not evaluable, or those of them with one of ``causes``.

    Raises:
        TraceError: it is no run directory, or a result in it cannot be read.
        ConfigError: there is nothing to run again.
    """
    if not run_dir.is_dir():
        raise TraceError(f"--rerun {run_dir}: no such run directory")
    run = load_results(run_dir)
    if run.problems:
        raise TraceError(f"--rerun {run_dir}: not every attempt can be read:\n" + "\n".join(run.problems))
    if not run.stored:
        raise TraceError(f"--rerun {run_dir} is not a run directory: it has no folder with a {RESULT}")
    lost = [item for item in run.stored if item.result.outcome.kind is OutcomeKind.NOT_EVALUABLE]
    if not lost:
        raise ConfigError(f"--rerun {run_dir}: nothing to run again, each of {len(run.stored)} attempts was evaluable")
    chosen = tuple(item for item in lost if not causes or item.result.outcome.cause in causes)
    if not chosen:
        found = Counter(str(item.result.outcome.cause) for item in lost)
        known = ", ".join(f"{number} {cause}" for cause, number in sorted(found.items()))
        raise ConfigError(
            f"--rerun {run_dir}: nothing to run again for --cause {', '.join(causes)}; not evaluable were: {known}"
        )
    return Rerun(run_dir, chosen)


def check_profiles(rerun: Rerun, scenarios: Sequence[Scenario]) -> None:
    """Refuse to run attempts again under other rules than theirs.

    Raises:
        ConfigError: the rule profile of a scenario is another one than in the stored run.
    """
    before = {item.result.scenario: item.result.profile for item in rerun.stored}
    for scenario in scenarios:
        if scenario.profile != before[scenario.name]:
            raise ConfigError(
                f"--rerun {rerun.source}: {scenario.name} was run with rule profile {before[scenario.name]} and would "
                f"now be run with {scenario.profile}; give the --compat of that run"
            )
