"""The reports that domains write about a run, beside the files of the run itself."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from duologue.errors import TraceError
from duologue.records.action import Side
from duologue.records.conditions import LineConditions
from duologue.records.event import BotReady
from duologue.records.run_layout import JUDGEMENT, RUN_ARGS, TRACE
from duologue.registry import load_domain
from duologue.reports.files import write_json, write_text
from duologue.reports.run_files import LoadedRun, StoredResult
from duologue.runner.judging import load_judgement
from duologue.runner.settings import ALL_SUITES
from duologue.toolkit.run_report import RUN_REPORTS, RunContext
from duologue.trace.reader import Trace, load_trace


def write_run_reports(run_dir: Path, run: LoadedRun) -> dict[str, dict[str, object]]:
    """Write the reports of every domain that has attempts in the run; return their summaries by report name.

    Everything is read from the run directory, so that a stored run gives the same files again. Attempts over another
    line than the clean one have reports of their own, in a folder of the line: no domain has to know of lines.

    Raises:
        TraceError: a file of the run is damaged.
        RegistryError: a domain is not there.
    """
    summaries: dict[str, dict[str, object]] = {}
    for domain in sorted({result.domain for result in run.results}):
        load_domain(domain)
        own = [item for item in run.stored if item.result.domain == domain]
        for name, report in RUN_REPORTS.items(domain):
            for line, items in _by_line(own).items():
                part = LoadedRun(tuple(items), ())
                made = report.build(part.results, run_context(run_dir, part))
                folder = run_dir if line.is_clean else run_dir / f"line_{line.name}"
                for file_name, content in made.files.items():
                    path = folder / file_name
                    if isinstance(content, str):
                        write_text(path, content)
                    else:
                        write_json(path, content)
                if made.summary:
                    summaries[name if line.is_clean else f"{name} over {line.name}"] = dict(made.summary)
    return summaries


def _by_line(stored: Sequence[StoredResult]) -> dict[LineConditions, list[StoredResult]]:
    """Return the attempts by the line that they were made over, the clean one first."""
    lines = sorted({item.result.line for item in stored}, key=lambda line: (not line.is_clean, line.name, line.digest))
    return {line: [item for item in stored if item.result.line == line] for line in lines}


def run_context(run_dir: Path, run: LoadedRun) -> RunContext:
    """Return what a report needs beside the results: from the record of the run, the traces and the judge's replies.

    Raises:
        TraceError: a trace or a judge's reply is damaged.
    """
    invocation = _invocation(run_dir)
    traces = [load_trace(item.folder / TRACE) for item in run.stored]
    judgements = [load_judgement(item.folder / JUDGEMENT) for item in run.stored]
    return RunContext(
        started_utc=str(invocation.get("started_at") or min(trace.header.utc_started for trace in traces)),
        agent=_first("brain", "adapter", traces) or "bot",
        suite=str((invocation.get("parsed_args") or {}).get("suite") or ALL_SUITES),
        judge=next((judgement.model for judgement in judgements if judgement and judgement.replies), ""),
        recogniser=_first("stt", "stt", traces),
    )


def _first(capability: str, setting: str, traces: list[Trace]) -> str:
    """Return what the first attempt that knows says of the agent: a setting of the run, or its own word."""
    for trace in traces:
        ready = next((event for event in trace.of(BotReady) if event.side is Side.AGENT), None)
        capabilities = ready.about.get("capabilities") if ready is not None else None
        own = capabilities.get(capability) if isinstance(capabilities, dict) else None
        if found := trace.header.settings.get(setting) or own:
            return str(found)
    return ""


def _invocation(run_dir: Path) -> dict[str, Any]:
    path = run_dir / RUN_ARGS
    try:
        invocation = json.loads(path.read_text(encoding="utf-8"))["invocations"][0]
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise TraceError(f"{path}: not the record of a run ({error})") from error
    return invocation if isinstance(invocation, dict) else {}
