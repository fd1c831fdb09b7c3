"""Carrying out what the reconciler plans: deltas, acknowledgements, digest checks, the release of writes."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from duologue.bridge.party import CallContext
from duologue.bridge.reconcile import Reconciler, Write
from duologue.errors import BotError, BotTimeout, ProtocolViolation, ReconcileFailed
from duologue.protocol import messages
from duologue.protocol.messages import ControlRequest
from duologue.protocol.replies import Report, parse_flag, parse_report, parse_summary
from duologue.records.action import Delta, Side
from duologue.records.event import ActionApplied, DeltaPushed, DomainEvent, StateChecked
from duologue.records.scenario import WorldEvent
from duologue.toolkit.rules import Deltas


class StateSync:
    """Keeps both bots equal to their shadows, between grants."""

    def __init__(self, attempt: CallContext, reconciler: Reconciler) -> None:
        self._attempt = attempt
        self._shadows = reconciler

    async def push_first(self, deltas: Deltas) -> None:
        """Send the deltas of the first sync.

        Raises:
            ReconcileFailed: a side did not take its delta.
        """
        for side in Side:
            if deltas.side(side) and not self._is_ours(side):
                await self._push(side, deltas.side(side))

    async def settle(self, writes: Sequence[Write]) -> None:
        """Replay the writes of one tick, reconcile both sides, and release the writes.

        Raises:
            ReconcileFailed: the databases could not be kept equal; the writes are released with the reason.
            BotError: a connection failed.
        """
        accepted: list[Write] = []
        try:
            dirty = {write.side for write in writes if not self._take(write, accepted)}
            if accepted:
                await self._reconcile({write.side for write in accepted}, dirty)
        except ReconcileFailed as error:
            with contextlib.suppress(BotError):
                await self._release(accepted, [str(error)])
            raise
        await self._release(accepted, [])

    async def carry_over(self, side: Side) -> None:
        """Bring the other side up to date after a write on a database that is the harness's own.

        Raises:
            ReconcileFailed: the databases could not be kept equal.
            BotError: a connection failed.
        """
        await self._reconcile({side}, set())

    async def happen(self, event: WorldEvent) -> None:
        """Let a world event happen on both shadows and on whoever hosts a side, then reconcile.

        Raises:
            ReconcileFailed: the domain refuses it, or the databases could not be kept equal.
            BotError: a connection failed.
        """
        attempt = self._attempt
        self._shadows.happen(event.kind, event.data)
        attempt.log.write(DomainEvent(domain=attempt.scenario.domain, kind=event.kind, data=event.data))
        for side in attempt.sides:
            if self._shadows.has_state(side) and not self._is_ours(side):
                await self._tell(side, event)
        await self._reconcile(set(Side), set())

    async def _tell(self, side: Side, event: WorldEvent) -> None:
        """Bring the host of a side to its shadow after an event; a bot that knows none is given the whole state."""
        if self._attempt.party(side).about.world_events:
            control = messages.apply_event(side, event.kind, event.data, self._attempt.epoch)
        else:
            control = messages.apply_initialization(self._attempt.scenario.domain, self._shadows.full_state(side), [])
        try:
            _, report = await self._report(side, control)
        except BotError as error:
            raise _as_sync_failure(error) from error
        if not report.success:
            reason = "; ".join(report.errors) or "no reason"
            raise ReconcileFailed(f"the {side} bot could not take the world event {event.kind}: {reason}")
        if not self.check(side, report.digest):
            await self._repair(side)

    def check(self, side: Side, digest: str | None, *, repaired: bool = False) -> bool:
        """Compare a bot's digest with its shadow's and log it; True when equal or when there is none to compare."""
        shadow = self._shadows.shadow_digest(side)
        if shadow is None or not self._shadows.is_watched(side):
            return True
        equal = digest == shadow
        self._attempt.log.write(
            StateChecked(side=side, bot_digest=digest, shadow_digest=shadow, equal=equal, repaired=repaired)
        )
        return equal

    def _take(self, write: Write, accepted: list[Write]) -> bool:
        """Replay one write; False when the bot's database differs from the shadow after it."""
        admission = self._shadows.admit(write)
        stripped = None if write.action.epoch == self._attempt.epoch else write.action.epoch
        action = write.action.model_copy(update={"epoch": stripped})
        self._attempt.log.write(
            ActionApplied(side=write.side, action=action, accepted=admission.accepted, problem=admission.problem)
        )
        if admission.fatal:
            raise ReconcileFailed(admission.problem)
        if not admission.accepted:
            self._attempt.log.note(write.side, f"{admission.problem}; dropped")
            return True
        accepted.append(write)
        if note := self._shadows.replay(write):
            self._attempt.log.note(write.side, note)
        return self.check(write.side, write.digest)

    async def _reconcile(self, acted: set[Side], dirty: set[Side]) -> None:
        deltas = self._shadows.sync()
        for side in Side:
            if self._is_ours(side):
                continue
            if side in dirty:
                await self._repair(side)
            elif deltas.side(side):
                await self._push(side, deltas.side(side))
            elif side not in acted and self._shadows.is_watched(side):
                await self._verify(side)

    def _is_ours(self, side: Side) -> bool:
        """Whether the database of ``side`` is the harness's own, so that there is no bot to tell."""
        party = self._attempt.parties.get(side)
        return party is not None and not party.hosts_tools

    async def _push(self, side: Side, delta: Delta) -> None:
        control = messages.apply_sync_delta(self._attempt.scenario.domain, delta, self._attempt.epoch)
        try:
            request_id, report = await self._report(side, control)
        except BotError as error:
            self._log_delta(side, delta, error.request_id or "", Report(False, (str(error),)))
            raise _as_sync_failure(error) from error
        self._log_delta(side, delta, request_id, report)
        if not report.success:
            raise ReconcileFailed(f"the {side} bot could not apply a delta: {'; '.join(report.errors) or 'no reason'}")
        if not self.check(side, report.digest):
            await self._repair(side)

    async def _verify(self, side: Side) -> None:
        _, d = await self._request(side, messages.get_scenario_summary(include_db=False))
        try:
            digest = parse_summary(d).digest
        except ValueError as error:
            raise ReconcileFailed(f"the {side} bot's summary: {error}") from error
        if not self.check(side, digest):
            await self._repair(side)

    async def _repair(self, side: Side) -> None:
        self._shadows.begin_repair(side)
        control = messages.apply_initialization(self._attempt.scenario.domain, self._shadows.full_state(side), [])
        try:
            _, report = await self._report(side, control)
        except BotError as error:
            raise _as_sync_failure(error) from error
        if not report.success or not self.check(side, report.digest, repaired=True):
            reason = "; ".join(report.errors) or "the digest still differs"
            raise ReconcileFailed(f"a full push did not make the {side} bot equal to its shadow: {reason}")

    async def _release(self, writes: Sequence[Write], errors: Sequence[str]) -> None:
        for write in writes:
            seq = write.action.seq
            if seq is None or not self._attempt.party(write.side).about.barrier:
                continue
            # The answer follows once the bot has settled, and its model may answer the result at once.
            party, control = self._attempt.party(write.side), messages.release_action(self._attempt.epoch, seq, errors)
            _, d = await party.connection.request(control, party.tick_timeout_s(self._attempt.settings))
            if not parse_flag_or_false(d):
                self._attempt.log.note(write.side, f"release of write {seq} found nobody waiting")

    async def _report(self, side: Side, control: ControlRequest) -> tuple[str, Report]:
        request_id, d = await self._request(side, control)
        try:
            return request_id, parse_report(d)
        except ValueError as error:
            text = f"the {side} bot's answer to {control.t}: {error}"
            raise ProtocolViolation(text, side=side, request_id=request_id) from error

    async def _request(self, side: Side, control: ControlRequest) -> tuple[str, object]:
        return await self._attempt.party(side).connection.request(control, self._attempt.settings.request_timeout_s)

    def _log_delta(self, side: Side, delta: Delta, request_id: str, report: Report) -> None:
        event = DeltaPushed(side=side, delta=delta, request_id=request_id, success=report.success, errors=report.errors)
        self._attempt.log.write(event)


def parse_flag_or_false(d: object) -> bool:
    """Return a flag; anything that is not one counts as false."""
    try:
        return parse_flag(d)
    except ValueError:
        return False


def _as_sync_failure(error: BotError) -> Exception:
    """A refused or unanswered request is a sync failure; a dead connection stays what it is."""
    if isinstance(error, BotTimeout) or error.request_id is not None:
        return ReconcileFailed(f"{error} (request {error.request_id})")
    return error
