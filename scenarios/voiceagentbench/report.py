"""The report of a run and its summary, from stored results."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from duologue.records.result import ScenarioResult
from duologue.toolkit.run_report import RUN_REPORTS, RunContext, RunFiles, RunReport
from scenarios.voiceagentbench.aggregate import (
    Result,
    aggregate,
    by_k,
    means_or_null,
    pass_hat_k,
    rate_by,
    unweighted_suite_mean,
)
from scenarios.voiceagentbench.grading import GRADER
from tools.voiceagentbench.manifest import DOMAIN

NO_JUDGE = "none"


def build(results: Sequence[ScenarioResult], context: RunContext) -> RunFiles:
    """Return the report file of a run and the summary that is printed; trials in order, then scenarios by name."""
    graded = [result.grade for result in results if result.grader == GRADER and "task" in result.grade]
    graded.sort(key=lambda fields: fields["task"]["seed"])
    if not graded:
        return RunFiles({}, {})
    tasks = [{**fields["task"], **{key: value for key, value in fields.items() if key != "task"}} for fields in graded]
    fields = {**_figures(tasks, context), "extras": _extra_figures(tasks)}
    name = file_name(context)
    summary = {**fields, "tasks_run": len(tasks), "output_file": name}
    return RunFiles({name: {"tasks": tasks, **fields}}, summary)


def file_name(context: RunContext) -> str:
    """Return ``voiceagentbench_<agent>_<suite>_<timestamp>.json``."""
    agent = re.sub(r"[^A-Za-z0-9.-]+", "-", context.agent).strip("-") or "bot"
    return f"{DOMAIN}_{agent}_{context.suite}_{context.started_utc.replace(':', '-')}.json"


def _figures(tasks: Sequence[Result], context: RunContext) -> dict[str, Any]:
    return {
        **aggregate(tasks),
        "model_name": context.agent,
        "judge_model_name": context.judge or NO_JUDGE,
        "timestamp": context.started_utc,
        "seeds": max(task["seed"] for task in tasks) + 1,
        "total_latency_ms": sum(task["latency_ms"] for task in tasks),
        "stt_provider": context.recogniser,
    }


def _extra_figures(tasks: Sequence[Result]) -> dict[str, Any]:
    sound = [task for task in tasks if task["error"] is None]
    rates = [rate for task in tasks for rate in task["word_error_rates"] if rate is not None]
    return {
        "pass_hat_k": by_k(pass_hat_k, tasks),
        "strict_pass_rate": sum(task["strict_pass"] for task in tasks) / len(tasks),
        "unweighted_suite_mean": unweighted_suite_mean(tasks),
        "per_language_pass_at_1": rate_by(tasks, "language"),
        "errored": len(tasks) - len(sound),
        "errored_tasks": [{"task_id": task["task_id"], "error": task["error"]} for task in tasks if task["error"]],
        "means": means_or_null(tasks),
        "means_without_errored": means_or_null(sound),
        "mean_word_error_rate": sum(rates) / len(rates) if rates else None,
        "surplus_calls": sum(task["surplus_calls"] for task in tasks),
    }


RUN_REPORTS.register(DOMAIN, DOMAIN, RunReport(build), owner=__name__)
