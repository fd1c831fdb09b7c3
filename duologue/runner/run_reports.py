"""The reports that domains write about a run, beside the files of the run itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from duologue.errors import TraceError
from duologue.records.action import Side
from duologue.records.event import BotReady
from duologue.records.run_layout import JUDGEMENT, RUN_ARGS, TRACE
from duologue.registry import load_domain
from duologue.reports.files import write_json, write_text
from duologue.reports.run_files import LoadedRun
from duologue.runner.judging import load_judgement
from duologue.runner.settings import ALL_SUITES
from duologue.toolkit.run_report import RUN_REPORTS, RunContext
from duologue.trace.reader import Trace, load_trace


def write_run_reports(run_dir: Path, run: LoadedRun) -> dict[str, dict[str, Any]]:
    """Write the reports of every domain that has attempts in the run; return their summaries by report name.

    Everything is read from the run directory, so that a stored run gives the same files again.

    Raises:
        TraceError: a file of the run is damaged.
        RegistryError: a domain is not there.
    """
    summaries: dict[str, dict[str, Any]] = {}
    for domain in sorted({result.domain for result in run.results}):
        load_domain(domain)
        own = LoadedRun(tuple(item for item in run.stored if item.result.domain == domain), ())
        for name, report in RUN_REPORTS.items(domain):
            made = report.build(own.results, run_context(run_dir, own))
            for file_name, content in made.files.items():
                if isinstance(content, str):
                    write_text(run_dir / file_name, content)
                else:
                    write_json(run_dir / file_name, content)
            if made.summary:
                summaries[name] = dict(made.summary)
    return summaries


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
