"""Many attempts in order; the files of the run are rebuilt after each."""

from __future__ import annotations

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from duologue.records.conditions import LineConditions
from duologue.records.result import ScenarioResult
from duologue.records.run_layout import trial_folder
from duologue.records.scenario import Scenario
from duologue.runner.attempt import Attempt, AttemptRunner
from duologue.runner.folders import folder_names
from duologue.runner.rescoring import rebuild_run_files

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Batch:
    """The attempts of a run and what became of them so far."""

    attempts: tuple[Attempt, ...]
    run_dir: Path
    results: list[ScenarioResult] = field(default_factory=list)

    @classmethod
    def plan(
        cls,
        scenarios: Sequence[Scenario],
        run_dir: Path,
        *,
        seed: int = 0,
        trials: int = 1,
        lines: Sequence[LineConditions] = (),
        only: Collection[tuple[str, int, LineConditions]] | None = None,
    ) -> Batch:
        """Return the attempts: every scenario in order, then the second trial of each, each with its own folder.

        The first trial has the seed ``seed``, each further one the next number. Each trial of every scenario is run
        over each of ``lines``, or over the scenario's own. With ``only``, the attempts are those alone, given by
        scenario name, trial and line, whatever ``trials`` and ``lines`` say.
        """
        if only is not None:
            trials = max((trial for _, trial, _ in only), default=0)
            lines = sorted({line for *_, line in only}, key=lambda line: (not line.is_clean, line.name, line.digest))
        placed = _placed(scenarios, lines)
        folders = folder_names(
            [scenario.name for scenario, _ in placed],
            ["" if scenario.line == line else line.name for scenario, line in placed],
        )
        return cls(
            tuple(
                Attempt(
                    scenario.model_copy(update={"line": line}) if scenario.line != line else scenario,
                    run_dir / trial_folder(folder, trial),
                    run_dir.name,
                    trial,
                    seed + trial - 1,
                )
                for trial in range(1, trials + 1)
                for (scenario, line), folder in zip(placed, folders, strict=True)
                if only is None or (scenario.name, trial, line) in only
            ),
            run_dir,
        )

    @property
    def folders(self) -> list[Path]:
        """The folders of the attempts that have a result."""
        return [attempt.folder for attempt in self.attempts[: len(self.results)]]

    async def run(self, runner: AttemptRunner) -> None:
        """Run every attempt. When cancelled, the attempt under way is stored before the cancellation goes on."""
        for number, attempt in enumerate(self.attempts, start=1):
            # Without a pause too: a call without sound waits for nothing, so that this is where it can be stopped.
            await runner.clock.sleep(runner.settings.pause_s)
            runner.observer.scenario_started(number, attempt.scenario)
            await runner.run(attempt, self._store)

    def _store(self, result: ScenarioResult) -> None:
        self.results.append(result)
        logger.info("scenario finished", extra={"scenario": result.scenario, "outcome": result.outcome.kind.value})
        rebuild_run_files(self.run_dir)


def _placed(scenarios: Sequence[Scenario], lines: Sequence[LineConditions]) -> list[tuple[Scenario, LineConditions]]:
    """Return every scenario with each line that it is run over."""
    if not lines:
        return [(scenario, scenario.line) for scenario in scenarios]
    return [(scenario, line) for line in lines for scenario in scenarios]
