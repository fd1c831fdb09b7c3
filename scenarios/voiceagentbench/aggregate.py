"""Figures over many results: pass at k, pass^k, rates per suite, means of the axes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import comb
from typing import Any

KS = (1, 2, 4)
AXES = ("tool_selection", "parameter_match", "coherence", "safety")

Result = Mapping[str, Any]
"""One task entry of the report: ``task_id``, ``suite``, ``passed``, and the axes as ``<axis>_score``."""


def trials_by_task(results: Iterable[Result]) -> dict[tuple[str, str], list[bool]]:
    """Return whether each trial passed, by suite and task, in order of arrival.

    The suite is part of the key, as upstream's ids are unique within a file only.
    """
    trials: dict[tuple[str, str], list[bool]] = {}
    for result in results:
        trials.setdefault((str(result["suite"]), str(result["task_id"])), []).append(bool(result["passed"]))
    return trials


def pass_at_k(results: Iterable[Result], k: int) -> float:
    """Return the share of tasks whose first ``k`` trials all passed, among those with that many; 0 without any.

    Raises:
        ValueError: ``k`` is below 1.
    """
    _check(k)
    enough = [trials for trials in trials_by_task(results).values() if len(trials) >= k]
    return sum(all(trials[:k]) for trials in enough) / len(enough) if enough else 0.0


def pass_hat_k(results: Iterable[Result], k: int) -> float | None:
    """Return the mean over tasks of C(passes, k) / C(trials, k); None when no task has ``k`` trials.

    Raises:
        ValueError: ``k`` is below 1.
    """
    _check(k)
    enough = [trials for trials in trials_by_task(results).values() if len(trials) >= k]
    return sum(comb(sum(trials), k) / comb(len(trials), k) for trials in enough) / len(enough) if enough else None


def _check(k: int) -> None:
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k}")


def rate_by(results: Iterable[Result], key: str) -> dict[str, float]:
    """Return passes over results, over all trials, by the value of ``key``; values without results are absent."""
    groups: dict[str, list[bool]] = {}
    for result in results:
        groups.setdefault(str(result[key]), []).append(bool(result["passed"]))
    return {value: sum(passed) / len(passed) for value, passed in groups.items()}


def means(results: Sequence[Result]) -> dict[str, float]:
    """Return the means of the axes over every trial; null axes are skipped, and no value at all gives 0."""
    return {f"mean_{axis}": _mean([result[f"{axis}_score"] for result in results]) or 0.0 for axis in AXES}


def means_or_null(results: Sequence[Result]) -> dict[str, Any]:
    """Return the same with null for no value, and how many values there were."""
    figures: dict[str, Any] = {}
    for axis in AXES:
        scores = [result[f"{axis}_score"] for result in results]
        figures[f"mean_{axis}"] = _mean(scores)
        figures[f"count_{axis}"] = sum(score is not None for score in scores)
    return figures


def _mean(scores: Sequence[float | None]) -> float | None:
    found = [score for score in scores if score is not None]
    return sum(found) / len(found) if found else None


def by_k(function: Callable[[Iterable[Result], int], float | None], results: Sequence[Result]) -> dict[str, Any]:
    """Return a figure for every k that is reported."""
    return {str(k): function(results, k) for k in KS}


def aggregate(results: Sequence[Result]) -> dict[str, Any]:
    """Return the aggregate fields that the vendored report has."""
    at_k = by_k(pass_at_k, results)
    return {
        "pass_at_1": at_k["1"],
        "pass_at_k": at_k,
        "per_suite_pass_at_1": rate_by(results, "suite"),
        **means(results),
    }


def unweighted_suite_mean(results: Sequence[Result]) -> float | None:
    """Return the mean of the rates per suite, so that large suites do not dominate; None without results."""
    return _mean(list(rate_by(results, "suite").values()))
