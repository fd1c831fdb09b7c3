"""What repeating says: pass@k (any of k) and pass^k (all of k), estimated from every evaluable trial."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import comb
from statistics import fmean

from duologue.records.aggregate import RepeatRate
from duologue.records.conditions import LineConditions
from duologue.records.result import ScenarioResult

_Repeated = tuple[str, LineConditions]


def pass_at_k(trials: int, passed: int, k: int) -> float:
    """Return how likely at least one of ``k`` trials passes, drawn from ``trials`` of which ``passed`` did.

    Raises:
        ValueError: ``k`` is not between 1 and ``trials``.
    """
    _check(trials, k)
    return 1.0 - comb(trials - passed, k) / comb(trials, k)


def pass_hat_k(trials: int, passed: int, k: int) -> float:
    """Return how likely all of ``k`` trials pass, drawn from ``trials`` of which ``passed`` did.

    Raises:
        ValueError: ``k`` is not between 1 and ``trials``.
    """
    _check(trials, k)
    return comb(passed, k) / comb(trials, k)


def repeat_rates(results: Sequence[ScenarioResult]) -> tuple[RepeatRate, ...]:
    """Return the rates for every k up to the largest number of trials; nothing when nothing was repeated.

    An attempt that is not evaluable is no trial. A scenario counts for k when it has as many trials; over another line
    it is another scenario.
    """
    attempts = Counter(_repeated(result) for result in results)
    most = max(attempts.values(), default=0)
    if most < 2:
        return ()
    trials = Counter(_repeated(result) for result in results if result.is_successful is not None)
    passed = Counter(_repeated(result) for result in results if result.is_successful)
    return tuple(_rate(k, attempts, trials, passed) for k in range(1, most + 1))


def _repeated(result: ScenarioResult) -> _Repeated:
    return result.scenario, result.line


def _rate(k: int, attempts: Counter[_Repeated], trials: Counter[_Repeated], passed: Counter[_Repeated]) -> RepeatRate:
    enough = [name for name, number in attempts.items() if trials[name] >= k]
    return RepeatRate(
        k=k,
        scenarios=len(enough),
        left_out=sum(number >= k for number in attempts.values()) - len(enough),
        pass_at=fmean(pass_at_k(trials[name], passed[name], k) for name in enough) if enough else None,
        pass_hat=fmean(pass_hat_k(trials[name], passed[name], k) for name in enough) if enough else None,
    )


def _check(trials: int, k: int) -> None:
    if not 1 <= k <= trials:
        raise ValueError(f"k must be between 1 and the number of trials, {trials}, got {k}")
