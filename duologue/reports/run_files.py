"""The files of a run directory, rebuilt from the scenario folders alone."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from duologue.errors import TraceError
from duologue.records.aggregate import RunAggregate
from duologue.records.result import ScenarioResult
from duologue.records.run_layout import ALL_LATENCIES, ALL_METRICS, ALL_SUMMARY, MOVED_ASIDE, RESULT, RESULTS, TRACE
from duologue.reports.files import write_json, write_text
from duologue.reports.metrics import metrics
from duologue.reports.summary import render_text


@dataclass(frozen=True, slots=True)
class StoredResult:
    """A scored attempt and the folder it is in."""

    folder: Path
    result: ScenarioResult


@dataclass(frozen=True, slots=True)
class LoadedRun:
    """The scored attempts of a run directory in order of their names, and what could not be read."""

    stored: tuple[StoredResult, ...]
    problems: tuple[str, ...]

    @property
    def results(self) -> list[ScenarioResult]:
        """The results alone."""
        return [item.result for item in self.stored]


def scenario_folders(run_dir: Path) -> list[Path]:
    """Return the folders of a run that hold an attempt, sorted; those moved aside are left out."""
    return sorted(
        folder
        for folder in run_dir.iterdir()
        if folder.is_dir()
        and MOVED_ASIDE not in folder.name
        and ((folder / TRACE).exists() or (folder / RESULT).exists())
    )


def load_result(folder: Path) -> ScenarioResult:
    """Read the result of one scenario folder.

    Raises:
        TraceError: missing, not JSON, or not a result of this version; the message names the file.
    """
    path = folder / RESULT
    try:
        return ScenarioResult.model_validate_json(path.read_bytes())
    except OSError as error:
        raise TraceError(
            f"{path}: cannot be read ({error.strerror or error}); run_evaluation.py rescore rebuilds it"
        ) from error
    except ValidationError as error:
        raise TraceError(f"{path}: not a result of this version; run_evaluation.py rescore rebuilds it") from error


def load_results(run_dir: Path) -> LoadedRun:
    """Read every scored attempt of a run directory; unreadable ones are named in ``problems``."""
    stored, problems = [], []
    for folder in scenario_folders(run_dir):
        try:
            stored.append(StoredResult(folder, load_result(folder)))
        except TraceError as error:
            problems.append(str(error))
    return LoadedRun(tuple(stored), tuple(problems))


def write_run_files(run_dir: Path, run: LoadedRun, aggregate: RunAggregate) -> None:
    """Write ``all_metrics.json``, ``all_latencies.csv``, ``all_summary.txt`` and ``results.json`` atomically."""
    write_json(run_dir / ALL_METRICS, [metrics(item.result, item.folder) for item in run.stored])
    write_text(run_dir / ALL_LATENCIES, latencies_csv(run.results))
    write_text(run_dir / ALL_SUMMARY, render_text(run.results, aggregate))
    write_json(run_dir / RESULTS, _results(run, aggregate))


def latencies_csv(results: Sequence[ScenarioResult]) -> str:
    """Return every response latency as CSV: texts quoted, quotes doubled, milliseconds with one decimal."""
    buffer = io.StringIO()
    buffer.write("Scenario,User_Transcript,Agent_Transcript,Latency_ms\n")
    names = csv.writer(buffer, lineterminator="")
    texts = csv.writer(buffer, quoting=csv.QUOTE_ALL, lineterminator="")
    for result in results:
        for response in result.conversation.latency.responses:
            names.writerow([result.scenario])
            buffer.write(",")
            texts.writerow([response.user_text, response.agent_text])
            buffer.write(f",{response.latency_ms:.1f}\n")
    return buffer.getvalue()


def _results(run: LoadedRun, aggregate: RunAggregate) -> dict[str, object]:
    return {
        "schema_version": 1,
        "run_ids": sorted({result.run_id for result in run.results}),
        "scored_as": list(aggregate.scored_as),
        "outcomes": [_outcome(item) for item in run.stored],
        "aggregates": aggregate.model_dump(mode="json"),
        "provenance": _distinct([result.provenance for result in run.results]),
        "unreadable": list(run.problems),
    }


def _outcome(item: StoredResult) -> dict[str, object]:
    result = item.result
    return {
        "scenario": result.scenario,
        "attempt": result.attempt,
        "folder": item.folder.name,
        **({} if result.line.is_clean else {"line": result.line.name}),
        "profile": result.profile,
        "scored_as": result.scored_as,
        "outcome": result.outcome.model_dump(mode="json"),
        "is_task_successful": result.is_task_successful,
        "stop_reason": result.stop_reason,
        "breakdown": {key: list(names) for key, names in result.breakdown.model_dump().items()},
        "signal_versions": {verdict.signal: verdict.version for verdict in result.verdicts},
    }


def _distinct(values: Sequence[dict[str, object]]) -> list[dict[str, object]]:
    texts = sorted({json.dumps(value, sort_keys=True) for value in values})
    return [json.loads(text) for text in texts]
