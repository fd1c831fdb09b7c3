"""After the last grant: pull both bots' context and summary, and compare the logs with what was seen live."""

from __future__ import annotations

from duologue.bridge.party import CallContext
from duologue.bridge.reconcile import Reconciler
from duologue.bridge.state_sync import StateSync
from duologue.errors import BotError, ProtocolViolation, ReconcileFailed
from duologue.protocol import messages
from duologue.protocol.replies import Summary, parse_context, parse_summary
from duologue.records.action import Side
from duologue.records.event import ContextPulled, SummaryPulled
from duologue.records.outcome import Cause
from duologue.toolkit.state_events import own_summary, without_epoch


async def pull_both(attempt: CallContext, shadows: Reconciler) -> None:
    """Pull from every bot that still answers; whatever is missing or differs becomes a fault."""
    had_fault = attempt.log.has_fatal_fault
    for side in attempt.sides:
        if attempt.party(side).connection.is_usable:
            await _pull_context(attempt, side)
            if attempt.party(side).hosts_tools:
                await _pull_summary(attempt, shadows, side, compare=not had_fault)
            else:
                with_db = bool(attempt.scenario.db_state_assertions)
                actions = shadows.streams[side]
                attempt.log.write(own_summary(shadows.dual, side, actions, epoch=attempt.epoch, with_db=with_db))


async def _pull_context(attempt: CallContext, side: Side) -> None:
    request = messages.get_context_history()
    try:
        request_id, d = await attempt.party(side).connection.request(request, attempt.settings.request_timeout_s)
        context = _parsed_context(side, request_id, d)
    except BotError as error:
        attempt.log.fault(Cause.TRANSPORT, error, fatal=False)
        return
    attempt.log.write(ContextPulled(side=side, messages=tuple(context)))


def _parsed_context(side: Side, request_id: str, d: object) -> list[object]:
    try:
        return parse_context(d)
    except ValueError as error:
        raise ProtocolViolation(f"the {side} bot's context: {error}", side=side, request_id=request_id) from error


async def _pull_summary(attempt: CallContext, shadows: Reconciler, side: Side, *, compare: bool) -> None:
    request = messages.get_scenario_summary(include_db=bool(attempt.scenario.db_state_assertions))
    try:
        request_id, d = await attempt.party(side).connection.request(request, attempt.settings.request_timeout_s)
        summary = _parsed_summary(side, request_id, d)
    except BotError as error:
        attempt.log.fault(Cause.TRANSPORT, error, fatal=compare)
        return
    attempt.log.write(
        SummaryPulled(
            side=side,
            actions=without_epoch(summary.actions, attempt.epoch),
            db_hash=summary.db_hash,
            digest=summary.digest,
            db=summary.db,
        )
    )
    if compare:
        _compare(attempt, shadows, side, summary)


def _parsed_summary(side: Side, request_id: str, d: object) -> Summary:
    try:
        return parse_summary(d)
    except ValueError as error:
        raise ProtocolViolation(f"the {side} bot's summary: {error}", side=side, request_id=request_id) from error


def _compare(attempt: CallContext, shadows: Reconciler, side: Side, summary: Summary) -> None:
    problem = shadows.log_problem(side, summary.actions)
    if not StateSync(attempt, shadows).check(side, summary.digest):
        problem = problem or f"the {side} bot's database differs from its shadow at the end of the call"
    if problem:
        attempt.log.fault(Cause.SYNC, ReconcileFailed(problem))
