"""One trace and its recording in, one scored attempt out; nothing else is read, nothing is written."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from duologue.errors import TraceError
from duologue.records.action import Side
from duologue.records.event import RecordingWritten, TokensUsed
from duologue.records.judge import JudgeResult
from duologue.records.judgement import Judgement
from duologue.records.result import ExpectedEnd, ScenarioResult, TokenUse
from duologue.scoring.checking import run_checks
from duologue.scoring.composite import combine, gating_signals
from duologue.scoring.evidence import collect_evidence
from duologue.scoring.sources import evidence_sources
from duologue.scoring.turns import Segments, at_the_caller, build_conversation, count_agent_turns, load_segments
from duologue.state.canonical import contract_hash_of
from duologue.toolkit.evidence import Evidence, ScoringMode
from duologue.trace.reader import Trace

MIN_AGENT_TURNS = "min_agent_turns"
STRICT_MATCH = "strict_match"


def score_trace(
    trace: Trace,
    audio: Path | None,
    *,
    said: Path | None = None,
    compat: Sequence[str] = (),
    judgement: Judgement | None = None,
    judge: JudgeResult | None = None,
) -> ScenarioResult:
    """Score one attempt. The domain of the scenario must be loaded.

    ``said`` is the recording of what was said, where the line made something else of it.
    ``judgement`` is what a judge said to the questions of checks,
    ``judge`` what a judge said of the attempt otherwise; both are None without one.

    ``compat`` with ``reference`` scores by the reference harness's gates and comparisons. The trace's own
    settings ``min_agent_turns`` and ``strict_match`` are honoured; absent ones are off.

    Raises:
        TraceError: a recording cannot be read, or is not the one that the trace names.
        RegistryError: the scenario names a check that is not there.
    """
    mode = ScoringMode.REFERENCE if "reference" in compat else ScoringMode.DUOLOGUE
    trace = _strict(trace)
    scenario, header = trace.header.scenario, trace.header
    evidence = collect_evidence(trace, mode, judge)
    segments = _segments(trace, audio, said)
    timed = at_the_caller(trace) if segments is not None else trace
    conversation = build_conversation(timed, segments)
    tokens = count_tokens(trace)
    agent_turns = count_agent_turns(timed, conversation.turns)
    counted = tokens[Side.AGENT].n_calls if mode is ScoringMode.REFERENCE else agent_turns
    too_few = counted < _wanted_turns(trace)
    checked = run_checks(evidence, judgement)
    problems = evidence.problems if mode is ScoringMode.REFERENCE else (*evidence.problems, *checked.problems)
    grade = checked.grade
    too_few = too_few and grade is None
    gates = grade.gates if grade is not None else gating_signals(scenario, mode)
    composite = combine(checked.verdicts, gates, problems, mode, too_few_turns=too_few, decided=checked.decided)
    ended = evidence.ended
    return ScenarioResult(
        run_id=header.run_id,
        attempt=header.attempt,
        seed=header.seed,
        scenario=scenario.name,
        domain=scenario.domain,
        prefix=scenario.prefix,
        family=scenario.family,
        profile=scenario.profile,
        description=scenario.description,
        scored_as=mode.value,
        outcome=composite.outcome,
        is_task_successful=composite.is_task_successful,
        stop_reason=ended.stop_reason if ended is not None else None,
        verdicts=checked.verdicts,
        breakdown=composite.breakdown,
        agent_turns=agent_turns,
        insufficient_agent_turns=too_few,
        media_ms=ended.media_ms if ended is not None else 0,
        wall_ms=ended.wall_ms if ended is not None else 0,
        conversation=conversation,
        tokens=tokens,
        expected=_expected(evidence),
        evidence=evidence_sources(trace),
        provenance=header.provenance,
        labels=scenario.labels,
        caller=checked.caller,
        reports=checked.reports,
        line=scenario.line,
        grader=checked.decided.signal if checked.decided is not None else "",
        grade=dict(grade.fields) if grade is not None else {},
    )


def _wanted_turns(trace: Trace) -> int:
    """Return how many turns the agent has to take: never more than the caller leaves it."""
    wanted = int(trace.header.settings.get(MIN_AGENT_TURNS) or 0)
    most = trace.header.scenario.caller.max_turns
    return wanted if most is None else min(wanted, most)


def count_tokens(trace: Trace) -> dict[Side, TokenUse]:
    """Return LLM calls and tokens of both sides."""
    totals = {}
    for side in Side:
        calls = [event for event in trace.of(TokensUsed) if event.side is side]
        totals[side] = TokenUse(
            n_calls=len(calls),
            prompt=sum(call.prompt for call in calls),
            completion=sum(call.completion for call in calls),
        )
    return totals


def _strict(trace: Trace) -> Trace:
    """Return the trace with ``disallow_extra_items`` set when the run asked for strict matching."""
    if not trace.header.settings.get(STRICT_MATCH):
        return trace
    scenario = trace.header.scenario.model_copy(update={"disallow_extra_items": True})
    return Trace(trace.header.model_copy(update={"scenario": scenario}), trace.events, trace.is_torn)


def _segments(trace: Trace, audio: Path | None, said: Path | None) -> Segments | None:
    if audio is None:
        return None
    written = trace.last(RecordingWritten)
    _check_digest(audio, written.sha256 if written is not None else "")
    if said is not None:
        _check_digest(said, written.said_sha256 if written is not None else "")
    elif written is not None and written.said_sha256:
        raise TraceError(f"{audio}: the recording of what was said, {written.said_path}, is missing")
    spoken = said or audio
    try:
        return load_segments(spoken, to_user_ms=trace.header.scenario.line.to_user.delay_ms)
    except (OSError, ValueError) as error:
        raise _unreadable(spoken, error) from error


def _check_digest(audio: Path, sha256: str) -> None:
    """Refuse a recording that is not the one with this digest; an empty one knows no recording."""
    try:
        found = hashlib.sha256(audio.read_bytes()).hexdigest()
    except OSError as error:
        raise _unreadable(audio, error) from error
    if sha256 and found != sha256:
        raise TraceError(f"{audio}: not the recording that the trace names (its digest differs)")


def _unreadable(audio: Path, error: Exception) -> TraceError:
    return TraceError(f"{audio}: the recording cannot be read ({error})")


def _expected(evidence: Evidence) -> ExpectedEnd:
    if evidence.gold is None:
        return ExpectedEnd()
    state = evidence.gold.state
    hashes = {side: contract_hash_of(db) for side in evidence.sides() if (db := state.side(side).db) is not None}
    return ExpectedEnd(
        agent_db_hash=hashes.get(Side.AGENT), user_db_hash=hashes.get(Side.USER), actions=evidence.gold.actions
    )
