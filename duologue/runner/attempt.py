"""One attempt at one scenario: folder, trace, call, scores, files. Trouble becomes an outcome, never an exception."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from duologue.clock import Clock
from duologue.errors import DuologueError, TraceError
from duologue.provenance import collect_provenance
from duologue.records.event import TraceHeader
from duologue.records.outcome import Cause, Outcome, OutcomeKind
from duologue.records.result import ScenarioResult
from duologue.records.run_layout import TRACE
from duologue.records.scenario import Scenario
from duologue.reports.contract_files import write_scenario_files
from duologue.runner.judging import judge_folder
from duologue.runner.observer import RunObserver
from duologue.runner.rescoring import rescore_folder
from duologue.runner.scenario_log import scenario_log
from duologue.runner.settings import RunSettings
from duologue.scoring.judge.client import Judge
from duologue.trace.call_trace import CallTrace
from duologue.trace.reader import Trace, load_trace
from duologue.trace.writer import TraceWriter

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Attempt:
    """What is run: a scenario, where its files go, and which repetition it is."""

    scenario: Scenario
    folder: Path
    run_id: str
    number: int = 1
    seed: int = 0

    @property
    def epoch(self) -> str:
        """An id that two different attempts do not share; equal for equal scenario, repetition, seed and line."""
        line = self.scenario.line
        conditions = "" if line.is_clean else f"\n{line.digest}"
        text = f"{self.scenario.name}\n{self.number}\n{self.seed}{conditions}"
        return hashlib.sha256(text.encode()).hexdigest()[:16]


class Calls(Protocol):
    """How the calls of a run are held: between bots, with a turn agent, in text."""

    def header(self) -> Mapping[str, Any]:
        """Return what a trace header stores beside the run's settings, or instead of one of them."""
        ...

    async def hold(self, attempt: Attempt, trace: CallTrace) -> None:
        """Hold the call of one attempt and write it to ``trace``; what it does not end, its caller ends.

        Raises:
            Exception: it could not be held.
        """
        ...


@dataclass(frozen=True, slots=True)
class AttemptRunner:
    """Runs attempts one after the other: folder, trace, call, judge, scores, files.

    Args:
        settings: the run's settings.
        clock: wall time, for the header.
        observer: is told about events and time.
        calls: holds the call of an attempt.
        judge: is asked about every attempt that can be evaluated; None without a judge.
    """

    settings: RunSettings
    clock: Clock
    observer: RunObserver
    calls: Calls
    judge: Judge | None = None

    async def run(self, attempt: Attempt, store: Callable[[ScenarioResult], None]) -> None:
        """Run, score and write one attempt; ``store`` gets its result, exactly once.

        Whatever goes wrong becomes a result that is not evaluable. A cancelled attempt is stored too, then the
        cancellation goes on.

        Raises:
            TraceError: the folder cannot be written.
        """
        attempt.folder.mkdir(parents=True, exist_ok=True)
        with scenario_log(attempt.folder, attempt.scenario.name):
            broken = ""
            writer = TraceWriter(attempt.folder / TRACE, self._header(attempt))
            trace = CallTrace(writer, self.observer.event_written, self.observer.ticked)
            try:
                with trace.ended_by_trouble():
                    await self.calls.hold(attempt, trace)
                await self._ask_judge(attempt)
            except asyncio.CancelledError:
                self._finish(attempt, trace, store)
                raise
            except Exception as error:
                logger.exception("the attempt broke")
                broken = f"{type(error).__name__} after the call: {error}"
            self._finish(attempt, trace, store, broken)

    async def _ask_judge(self, attempt: Attempt) -> None:
        if self.judge is None:
            return
        try:
            await judge_folder(attempt.folder, self.judge)
        except DuologueError:
            logger.exception("the attempt could not be put to the judge")

    def _header(self, attempt: Attempt) -> TraceHeader:
        return TraceHeader(
            run_id=attempt.run_id,
            attempt=attempt.number,
            seed=attempt.seed,
            epoch=attempt.epoch,
            utc_started=self.clock.utc_now().isoformat(),
            scenario=attempt.scenario,
            settings={**self.settings.header(), **self.calls.header()},
            provenance=collect_provenance(attempt.scenario),
            compat=self.settings.compat,
        )

    def _finish(
        self, attempt: Attempt, trace: CallTrace, store: Callable[[ScenarioResult], None], broken: str = ""
    ) -> None:
        """Close the trace, score it and write the files; what is ``broken``, or breaks here, is not evaluable."""
        trace.close()
        try:
            result = rescore_folder(attempt.folder)
        except Exception as error:
            logger.exception("scoring broke")
            broken = f"scoring broke: {type(error).__name__}: {error}"
        if broken:
            result = unscored(trace.header, broken)
            write_scenario_files(attempt.folder, _readable_trace(attempt.folder, trace.header), result)
        store(result)
        self.observer.scenario_finished(result, attempt.folder)


def _readable_trace(folder: Path, header: TraceHeader) -> Trace:
    try:
        return load_trace(folder / TRACE)
    except TraceError:
        return Trace(header, ())


def unscored(header: TraceHeader, detail: str) -> ScenarioResult:
    """Return the result of an attempt that could not be scored."""
    scenario = header.scenario
    return ScenarioResult(
        run_id=header.run_id,
        attempt=header.attempt,
        seed=header.seed,
        scenario=scenario.name,
        domain=scenario.domain,
        prefix=scenario.prefix,
        family=scenario.family,
        profile=scenario.profile,
        description=scenario.description,
        scored_as="none",
        outcome=Outcome(kind=OutcomeKind.NOT_EVALUABLE, cause=Cause.HARNESS, detail=detail),
        provenance=header.provenance,
        line=scenario.line,
    )
