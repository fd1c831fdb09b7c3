"""The tick loop: grant the bots 20 ms, swap their sound, record it, handle their messages, decide."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from duologue.audio.pcm import level_dbfs
from duologue.audio.recording import RecordingWriter
from duologue.bridge.bot_events import action_data
from duologue.bridge.connection import Inbound, TickReply
from duologue.bridge.exit_drain import BotActivity, CallEnd
from duologue.bridge.frozen_caller import FrozenCaller
from duologue.bridge.party import Attempt, Party
from duologue.bridge.reconcile import Write, parse_write
from duologue.bridge.state_sync import StateSync
from duologue.errors import BotError, BotUnavailable, ProtocolViolation, ReconcileFailed
from duologue.protocol.messages import TICK_MS, RtviMessage
from duologue.protocol.requests import Stray, StrayAnswer
from duologue.records.action import Side
from duologue.records.event import CallStarted, ExitRequested, Interrupted
from duologue.records.outcome import StopReason


class Conversation:
    """Runs a prepared call to its end. Time exists only here: one pass of the loop is one tick.

    ``caller`` stands for the user bot when the caller is recorded.
    """

    def __init__(
        self,
        attempt: Attempt,
        sync: StateSync,
        recording: RecordingWriter,
        caller: FrozenCaller | None = None,
        on_tick: Callable[[int], None] | None = None,
    ) -> None:
        self._attempt = attempt
        self._sync = sync
        self._recording = recording
        self._caller = caller
        self._on_tick = on_tick
        settings = attempt.settings
        self._end = CallEnd(
            max_ms=round(settings.max_duration_s * 1000),
            exit_grace_ms=round(settings.exit_grace_s * 1000),
            drain_ms=round(settings.drain_s * 1000),
        )
        self._agent = attempt.party(Side.AGENT)
        self.media_ms = 0

    async def run(self) -> StopReason:
        """Kick off and go on until the call ends.

        Raises:
            BotError: a side died, hung, or broke the protocol.
            ReconcileFailed: the databases could not be kept equal.
        """
        kick_off = self._attempt.settings.kick_off if self._caller is None else ""
        if kick_off:
            await self._agent.connection.send_text(kick_off)
        self._attempt.log.write(CallStarted(kick_off=kick_off))
        started = self._attempt.clock.monotonic()
        while True:
            await self._tick()
            reason = self._decide()
            if reason is not None:
                return reason
            if self._attempt.settings.pace == "wall":
                ahead = started + self.media_ms / 1000 - self._attempt.clock.monotonic()
                await self._attempt.clock.sleep(max(ahead, 0.0))

    def _decide(self) -> StopReason | None:
        user = BotActivity() if self._caller is not None else self._attempt.party(Side.USER).activity
        reason = self._end.decide(self.media_ms, self._agent.activity, user)
        if reason is None and not self._is_ending and self._caller is not None and self._caller.has_hung_up:
            return StopReason.CALLER_DONE
        return reason

    @property
    def _is_ending(self) -> bool:
        return self._end.exit_at_ms is not None

    def _caller_sound(self) -> bytes:
        """Return what the agent hears in this tick."""
        if self._caller is None:
            return self._attempt.party(Side.USER).said
        pcm, events = self._caller.step(self.media_ms, self._agent.activity, may_start=not self._is_ending)
        for event in events:
            self._attempt.log.write(event)
        return pcm

    async def _tick(self) -> None:
        self._attempt.log.t_ms = self.media_ms
        to_agent, to_user = self._caller_sound(), self._agent.said
        replies = await self._grant({Side.AGENT: to_agent, Side.USER: to_user})
        self._recording.append(to_agent, to_user)
        self.media_ms += TICK_MS
        writes: list[Write] = []
        for party in self._attempt.parties.values():
            self._take_messages(party, replies[party.side].inbound, writes)
            self._take_sound(party, replies[party.side])
        if writes:
            await self._sync.settle(writes)
        if self._on_tick is not None:
            self._on_tick(self.media_ms)

    async def _grant(self, heard: Mapping[Side, bytes]) -> dict[Side, TickReply]:
        parties = self._attempt.parties
        try:
            futures = {side: await party.connection.start_grant(heard[side]) for side, party in parties.items()}
            await self._wait(futures)
        finally:
            for party in parties.values():
                party.connection.abandon_grant()
        return {side: future.result() for side, future in futures.items()}

    async def _wait(self, futures: dict[Side, asyncio.Future[TickReply]]) -> None:
        """Wait for all replies; the bot with the shorter bound is given up first."""
        bounds = {side: self._attempt.party(side).tick_timeout_s(self._attempt.settings) for side in futures}
        waited = 0.0
        for side in sorted(futures, key=lambda side: bounds[side]):
            await asyncio.wait(futures.values(), timeout=bounds[side] - waited, return_when=asyncio.FIRST_EXCEPTION)
            failures = [error for future in futures.values() if future.done() and (error := future.exception())]
            if failures:
                raise failures[0]
            if not futures[side].done():
                raise self._attempt.party(side).connection.expire_grant(bounds[side])
            waited = bounds[side]

    def _take_sound(self, party: Party, reply: TickReply) -> None:
        audio = reply.audio
        try:
            party.said = party.resampler.push(audio.pcm, audio.sample_rate_hz, audio.num_channels)
        except ValueError as error:
            raise ProtocolViolation(f"the {party.side} bot sent {error}", side=party.side) from error
        party.activity.hear(level_dbfs(party.said), TICK_MS)

    def _take_messages(self, party: Party, inbound: tuple[Inbound, ...], writes: list[Write]) -> None:
        was_busy = party.activity.is_busy
        was_interrupted = False
        for item in inbound:
            was_busy = was_busy or party.activity.is_busy
            party.activity.observe(item)
            if (data := action_data(item)) is not None:
                writes.append(parse_write(party.side, data))
                continue
            for event in party.events.translate(item):
                if isinstance(event, Interrupted):
                    if was_interrupted or not was_busy:
                        continue
                    was_interrupted = True
                self._attempt.log.write(event)
                if isinstance(event, ExitRequested):
                    self._hang_up(party)
            self._refuse(party.side, item)

    def _hang_up(self, party: Party) -> None:
        if party.side is Side.AGENT:
            self._end.request_exit(self.media_ms)
        elif party.about.ends_call:
            self._end.caller_left(self.media_ms)

    def _refuse(self, side: Side, item: Inbound) -> None:
        """Raise for what a call cannot go on after."""
        if isinstance(item, StrayAnswer) and item.kind == "apply_sync_delta" and item.stray is not Stray.UNKNOWN:
            raise ReconcileFailed(f"the {side} bot: {item.note}; its database may have changed twice")
        data = item.data if isinstance(item, RtviMessage) and item.type == "error" else None
        if isinstance(data, dict) and data.get("fatal") is True:
            raise BotUnavailable(f"the {side} bot reported a fatal error: {data.get('error')}", side=side)


def stop_reason_of(error: BaseException) -> StopReason:
    """Return how a call that broke off with ``error`` ended."""
    is_lost = isinstance(error, BotError) and not isinstance(error, ProtocolViolation)
    return StopReason.BOT_LOST if is_lost else StopReason.FAULT
