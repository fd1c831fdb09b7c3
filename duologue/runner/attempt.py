"""One attempt at one scenario: folder, trace, call, scores, files. Trouble becomes an outcome, never an exception."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from duologue.bridge.call import Call
from duologue.bridge.settings import CallSettings, PlanPayload
from duologue.clock import Clock
from duologue.errors import BotUnavailable, DuologueError, ScenarioError, TraceError
from duologue.provenance import collect_provenance
from duologue.records.action import ReferenceAction
from duologue.records.event import CallEnded, Event, Fault, TraceHeader
from duologue.records.outcome import Cause, Outcome, OutcomeKind, StopReason
from duologue.records.result import ScenarioResult
from duologue.records.scenario import Scenario
from duologue.reports.contract_files import write_scenario_files
from duologue.runner.judging import judge_folder
from duologue.runner.mutation import MUTATION_KINDS, build_mutants
from duologue.runner.observer import RunObserver
from duologue.runner.rescoring import rescore_folder
from duologue.runner.scenario_log import scenario_log
from duologue.runner.settings import RunSettings
from duologue.runner.utterances import load_clips
from duologue.scoring.judge.client import Judge
from duologue.speech.utterances import Speaker
from duologue.trace.reader import Trace, load_trace
from duologue.trace.writer import TraceWriter

TRACE = "trace.jsonl"

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
        """An id that two different attempts do not share; equal for equal scenario, repetition and seed."""
        text = f"{self.scenario.name}\n{self.number}\n{self.seed}"
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(slots=True)
class AttemptRunner:
    """Runs attempts one after the other.

    Args:
        settings: the run's settings.
        clock: wall time, for the header and for pacing.
        observer: is told about events and time.
        ensure_bots: makes sure that bots which this run started are alive; raises BotUnavailable.
        judge: is asked about every attempt that can be evaluated; None without a judge.
        speak: makes the sound of callers' texts.
        build_call: makes the call of an attempt; everything but tests leaves it alone.
    """

    settings: RunSettings
    clock: Clock
    observer: RunObserver
    ensure_bots: Callable[[], Awaitable[None]] | None = None
    judge: Judge | None = None
    speak: Speaker | None = None
    build_call: Callable[..., Call] = Call

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
            log = _AttemptLog(TraceWriter(attempt.folder / TRACE, self._header(attempt)), self.observer)
            try:
                await self._call(attempt, log)
                await self._ask_judge(attempt)
            except asyncio.CancelledError:
                log.end(StopReason.INTERRUPTED, Cause.HARNESS, "Interrupted", "the run was stopped")
                self._finish(attempt, log, store)
                raise
            except BotUnavailable as error:
                logger.error("a bot could not be started again", extra={"error": str(error)})
                log.end(StopReason.BOT_LOST, Cause.TRANSPORT, type(error).__name__, str(error))
            except Exception as error:
                logger.exception("the attempt broke")
                if not log.end(StopReason.FAULT, Cause.HARNESS, type(error).__name__, str(error)):
                    broken = f"{type(error).__name__} after the call: {error}"
            self._finish(attempt, log, store, broken)

    async def _call(self, attempt: Attempt, log: _AttemptLog) -> None:
        if self.ensure_bots is not None:
            await self.ensure_bots()
        try:
            clips = load_clips(attempt.scenario, self.speak)
        except DuologueError as error:
            log.end(StopReason.NOT_STARTED, Cause.INIT, type(error).__name__, str(error))
            return
        call = self.build_call(
            attempt.scenario,
            self._call_settings(attempt.scenario),
            log.writer,
            attempt.folder,
            self.clock,
            plan=build_plan(attempt.scenario),
            clips=clips,
            on_event=log.saw,
            on_tick=log.ticked,
        )
        await call.run()

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
            settings=self.settings.header(),
            provenance=collect_provenance(attempt.scenario),
            compat=self.settings.compat,
        )

    def _call_settings(self, scenario: Scenario) -> CallSettings:
        return CallSettings(
            agent_url=self.settings.agent_url,
            user_url=self.settings.user_url,
            token=self.settings.token,
            max_duration_s=scenario.max_duration_s,
            pace=self.settings.pace,
            protocol=self.settings.bot_protocol,
            realtime=self.settings.realtime,
            caller_gap_s=self.settings.caller_gap_s,
            caller_patience_s=self.settings.caller_patience_s,
        )

    def _finish(
        self, attempt: Attempt, log: _AttemptLog, store: Callable[[ScenarioResult], None], broken: str = ""
    ) -> None:
        """Close the trace, score it and write the files; what is ``broken``, or breaks here, is not evaluable."""
        log.writer.close()
        try:
            result = rescore_folder(attempt.folder)
        except Exception as error:
            logger.exception("scoring broke")
            broken = f"scoring broke: {type(error).__name__}: {error}"
        if broken:
            result = unscored(log.writer.header, broken)
            write_scenario_files(attempt.folder, _readable_trace(log.writer), result)
        store(result)
        self.observer.scenario_finished(result, attempt.folder)


@dataclass(slots=True)
class _AttemptLog:
    """The trace of an attempt as the runner sees it: passes events on, and ends a trace that nobody ended."""

    writer: TraceWriter
    observer: RunObserver
    media_ms: int = 0
    has_ended: bool = False

    def saw(self, event: Event) -> None:
        self.has_ended = self.has_ended or isinstance(event, CallEnded)
        self.observer.event_written(event)

    def ticked(self, media_ms: int) -> None:
        self.media_ms = media_ms
        self.observer.ticked(media_ms)

    def end(self, reason: StopReason, cause: Cause, error: str, message: str) -> bool:
        """Append a fatal fault and the end of the call; False when it has ended, or its trace takes no more."""
        if self.has_ended:
            return False
        fault = Fault(cause=cause, error=error, message=message)
        try:
            self.saw(self.writer.append(fault, t_ms=self.media_ms))
            self.saw(self.writer.append(CallEnded(stop_reason=reason, media_ms=self.media_ms), t_ms=self.media_ms))
        except (OSError, TraceError):
            logger.exception("the trace cannot be ended")
            return False
        return True


def build_plan(scenario: Scenario) -> PlanPayload:
    """Return what a scripted agent may ask for: the reference actions, and the wrong plans that there are."""
    mutations: dict[str, Sequence[ReferenceAction]] = {}
    for kind in MUTATION_KINDS:
        try:
            mutations.update(build_mutants(scenario, [kind]))
        except ScenarioError as error:
            logger.debug("no wrong plan", extra={"kind": kind, "error": str(error)})
    return PlanPayload(scenario.reference_actions, mutations)


def _readable_trace(writer: TraceWriter) -> Trace:
    try:
        return load_trace(writer.path)
    except TraceError:
        return Trace(writer.header, ())


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
    )
