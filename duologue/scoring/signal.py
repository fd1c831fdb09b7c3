"""A signal: one named, versioned check of the evidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from duologue.records.outcome import Cause, Verdict
from duologue.registry import DEFAULT_DOMAIN, Registry
from duologue.scoring.evidence import Evidence


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found.

    ``passed`` None with a ``cause`` means that evidence is missing; without one, that the check does not apply.
    """

    passed: bool | None
    reason: str = ""
    evidence: dict[str, Any] = field(default_factory=dict)
    cause: Cause | None = None
    score: float | None = None
    holds_initially: bool = False


Check = Callable[[Evidence], Finding]


@dataclass(frozen=True, slots=True)
class Signal:
    """A registered check. ``version`` changes whenever the same evidence may give another verdict."""

    name: str
    version: int
    check: Check

    def verdict(self, evidence: Evidence) -> Verdict:
        """Run the check and return its verdict."""
        finding = self.check(evidence)
        return Verdict(
            signal=self.name,
            version=self.version,
            passed=finding.passed,
            evaluable=finding.cause is None,
            score=finding.score,
            reason=finding.reason,
            evidence=finding.evidence,
            cause=finding.cause,
            holds_initially=finding.holds_initially,
        )


SIGNALS: Registry[Signal] = Registry("signal")


def signal(name: str, *, version: int, domain: str = DEFAULT_DOMAIN) -> Callable[[Check], Check]:
    """Register a check as the signal ``name``; a domain may register signals of its own."""

    def register(check: Check) -> Check:
        SIGNALS.register(domain, name, Signal(name, version, check), owner=check.__module__)
        return check

    return register


def not_applicable(reason: str) -> Finding:
    """Return the finding of a check that the scenario does not ask for."""
    return Finding(None, reason)


def not_evaluable(cause: Cause, reason: str, evidence: dict[str, Any] | None = None) -> Finding:
    """Return the finding of a check whose evidence is missing."""
    return Finding(None, reason, evidence or {}, cause)
