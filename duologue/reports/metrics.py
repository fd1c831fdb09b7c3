"""``metrics.json``: the keys of the contract, and ours beside them."""

from __future__ import annotations

from pathlib import Path

from duologue.records.action import Side
from duologue.records.result import ScenarioResult
from duologue.records.scenario import SignalName

NOT_APPLICABLE = "N/A"


def metrics(result: ScenarioResult, folder: Path) -> dict[str, object]:
    """Return the contract's metrics of one attempt.

    Verdicts that are neither true nor false are ``"N/A"``. ``turns[].timestamp`` and ``duration_seconds``
    are media time; ``scenario_duration`` is wall time from prepare to the end of the call.
    """
    conversation = result.conversation
    return {
        "scenario_name": result.scenario,
        "scenario_directory": folder.name,
        "scenario_duration": result.wall_ms / 1000,
        "duration_seconds": result.media_ms / 1000,
        "total_turns": len(conversation.turns),
        "turns": [
            {"timestamp": turn.start_ms / 1000, "role": turn.side.value, "text": turn.text}
            for turn in conversation.turns
        ],
        "latency_stats": conversation.latency.stats.model_dump(),
        "latencies": [
            {
                "user_transcript": response.user_text,
                "agent_transcript": response.agent_text,
                "latency_ms": response.latency_ms,
            }
            for response in conversation.latency.responses
        ],
        "stop_reason": result.stop_reason.value if result.stop_reason else None,
        "clean_exit": _passed(result, SignalName.CLEAN_EXIT) is True,
        "is_action_match": _or_na(_passed(result, SignalName.ACTION_MATCH)),
        "token_usage": {side.value: _tokens(result, side) for side in (Side.AGENT, Side.USER)},
        "success_breakdown": {key: list(names) for key, names in result.breakdown.model_dump().items()},
        "is_successful": _or_na(result.is_successful),
        **_sometimes(result),
        **_ours(result),
    }


def _sometimes(result: ScenarioResult) -> dict[str, object]:
    found: dict[str, object] = {}
    if result.insufficient_agent_turns:
        found["insufficient_agent_turns"] = True
    state = result.verdict(SignalName.DB_STATE_MATCH)
    if state is not None and state.passed is not None:
        found["db_state_match"] = state.passed
        found["db_state_expected_hash"] = state.evidence["expected"].get(Side.AGENT.value)
        found["db_state_actual_hash"] = state.evidence["found"].get(Side.AGENT.value)
    predicates = result.verdict(SignalName.DB_STATE_ASSERTION)
    if predicates is not None and "verdicts" in predicates.evidence:
        found["db_state_assertion_verdicts"] = predicates.evidence["verdicts"]
        found["db_state_assertion_pass_rate"] = predicates.score
    judge = result.verdict(SignalName.JUDGE_PASSED)
    if judge is not None and judge.score is not None:
        found["judge_score"] = judge.score
        found["judge_passed"] = judge.passed
    statements = result.verdict(SignalName.NL_ASSERTION)
    if statements is not None and statements.score is not None:
        found["nl_assertion_pass_rate"] = statements.score
    if not result.line.is_clean:
        found["line"] = result.line.model_dump(mode="json")
    if result.reports:
        found["reports"] = {verdict.signal: verdict.model_dump(mode="json") for verdict in result.reports}
    if result.is_successful is not None:
        found["is_task_successful"] = result.is_task_successful
    return found


def _ours(result: ScenarioResult) -> dict[str, object]:
    return {
        "outcome": result.outcome.model_dump(mode="json"),
        "scored_as": result.scored_as,
        "profile": result.profile,
        "attempt": result.attempt,
        "agent_turns": result.agent_turns,
        "latency_percentiles": result.conversation.latency.percentiles.model_dump(),
        "latency_measured": result.conversation.latency.measured,
        "early_answers": result.conversation.latency.early,
        "unanswered_turns": result.conversation.latency.unanswered,
        "interruptions": [item.model_dump(mode="json") for item in result.conversation.interruptions],
        "overlap_ms": sum(item.end_ms - item.start_ms for item in result.conversation.overlaps),
        "caller_fidelity": {verdict.signal: verdict.model_dump(mode="json") for verdict in result.caller},
        "signals": {verdict.signal: verdict.model_dump(mode="json") for verdict in result.verdicts},
    }


def _tokens(result: ScenarioResult, side: Side) -> dict[str, int]:
    use = result.tokens.get(side)
    return {"n_calls": use.n_calls, "prompt": use.prompt, "completion": use.completion} if use else {}


def _passed(result: ScenarioResult, name: SignalName) -> bool | None:
    verdict = result.verdict(name)
    return verdict.passed if verdict is not None else None


def _or_na(value: bool | None) -> bool | str:
    return NOT_APPLICABLE if value is None else value
