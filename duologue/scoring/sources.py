"""Whose word the evidence of an attempt is: what a bot says of its own database, and what was checked of it."""

from __future__ import annotations

from duologue.protocol.replies import HARNESS_TOOLS
from duologue.records.action import Side
from duologue.records.event import BotReady, FinalState, StateChecked, SummaryPulled
from duologue.records.outcome import EvidenceSource
from duologue.state.canonical import contract_hash_of
from duologue.toolkit.rules import ToolHome, tool_home
from duologue.trace.reader import Trace


def evidence_sources(trace: Trace) -> dict[Side, EvidenceSource]:
    """Return where each side's final database and writes come from; a side without a database is left out."""
    found = {side: _source(trace, side) for side in Side}
    return {side: source for side, source in found.items() if source is not None}


def _source(trace: Trace, side: Side) -> EvidenceSource | None:
    final = trace.last(FinalState)
    if final is None:
        return None
    shadow = final.agent_db if side is Side.AGENT else final.user_db
    if shadow is None:
        return None
    if _owns_nothing(trace, side):
        return EvidenceSource.HARNESS
    summaries = [event for event in trace.of(SummaryPulled) if event.side is side]
    if not summaries:
        return EvidenceSource.NONE
    checks = [event for event in trace.of(StateChecked) if event.side is side]
    if checks:
        return EvidenceSource.DIGEST if checks[-1].equal else EvidenceSource.CONTRADICTED
    return _by_hash(summaries[-1], contract_hash_of(shadow))


def _by_hash(summary: SummaryPulled, expected: str | None) -> EvidenceSource:
    told = [summary.db_hash] if summary.db_hash is not None else []
    if summary.db is not None:
        told.append(contract_hash_of(summary.db))
    if not told:
        return EvidenceSource.SELF_REPORTED
    return EvidenceSource.HASH if set(told) == {expected} else EvidenceSource.CONTRADICTED


def _owns_nothing(trace: Trace, side: Side) -> bool:
    if tool_home(trace.header.scenario.domain, side) is ToolHome.HARNESS:
        return True
    ready = [event for event in trace.of(BotReady) if event.side is side]
    capabilities = ready[-1].about.get("capabilities") if ready else None
    return isinstance(capabilities, dict) and capabilities.get("tools") == HARNESS_TOOLS
