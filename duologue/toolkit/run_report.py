"""Run reports: what a domain writes about a whole run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from duologue.records.result import ScenarioResult
from duologue.registry import Registry

__all__ = ["RUN_REPORTS", "RunContext", "RunFiles", "RunReport"]


@dataclass(frozen=True, slots=True)
class RunContext:
    """What a run report cannot read from the results.

    Args:
        started_utc: when the run began, ISO 8601.
        agent: name of what was tested: the brain or model of the bot, or the adapter.
        suite: the value of ``--suite``; ``all`` without it.
        judge: the judge's model; empty without a judge.
        recogniser: what heard the caller, as far as it is known.
    """

    started_utc: str
    agent: str = "bot"
    suite: str = "all"
    judge: str = ""
    recogniser: str = ""


@dataclass(frozen=True, slots=True)
class RunFiles:
    """File names to contents (JSON values, or text), and the summary that is printed at the end of a run."""

    files: Mapping[str, Any]
    summary: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RunReport:
    """A domain's own report on its attempts of a run: pure, so it can be rebuilt from stored results."""

    build: Callable[[Sequence[ScenarioResult], RunContext], RunFiles]


RUN_REPORTS: Registry[RunReport] = Registry("run report")
