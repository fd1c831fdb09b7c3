"""From stored traces to files: one scenario folder, or a whole run directory. No bot is needed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from duologue.errors import TraceError
from duologue.records.event import RecordingWritten
from duologue.records.result import ScenarioResult
from duologue.records.run_layout import JUDGE_RESULT, JUDGEMENT, RECORDING, SAID_RECORDING, TRACE
from duologue.registry import load_domain
from duologue.reports.contract_files import write_scenario_files
from duologue.reports.run_files import LoadedRun, load_results, write_run_files
from duologue.runner.judging import load_judge_result, load_judgement
from duologue.scoring.aggregate import aggregate_results
from duologue.scoring.score import score_trace
from duologue.trace.reader import load_trace


def rescore_folder(folder: Path, compat: Sequence[str] | None = None) -> ScenarioResult:
    """Score a stored attempt anew and rewrite its files; what is equal is not touched.

    ``compat`` None scores as the run did. What a judge said of the attempt is read from the folder.

    Raises:
        TraceError: trace, recording or a judge's reply is missing, damaged or not the one that was written.
        RegistryError: the domain of the scenario is not there.
    """
    trace = load_trace(folder / TRACE)
    load_domain(trace.header.scenario.domain)
    recording, said = folder / RECORDING, folder / SAID_RECORDING
    written = trace.last(RecordingWritten)
    for path, is_needed in ((recording, written is not None), (said, written is not None and written.said_path)):
        if is_needed and not path.is_file():
            raise TraceError(f"{path}: missing; the trace says that the call was recorded")
    chosen = trace.header.compat if compat is None else compat
    result = score_trace(
        trace,
        recording if recording.is_file() else None,
        said=said if said.is_file() and not trace.header.scenario.line.is_clean else None,
        compat=chosen,
        judgement=load_judgement(folder / JUDGEMENT),
        judge=load_judge_result(folder / JUDGE_RESULT),
    )
    write_scenario_files(folder, trace, result)
    return result


def rebuild_run_files(run_dir: Path) -> LoadedRun:
    """Write the files of a run directory from its scenario folders and return what they hold."""
    run = load_results(run_dir)
    write_run_files(run_dir, run, aggregate_results(run.results))
    return run
