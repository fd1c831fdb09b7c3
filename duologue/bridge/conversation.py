"""The tick loop: grant both bots 20 ms, swap their sound, record it, handle their messages, decide."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from duologue.audio.pcm import level_dbfs
from duologue.audio.recording import RecordingWriter
from duologue.bridge.bot_events import action_data
from duologue.bridge.connection import Inbound, TickReply
from duologue.bridge.exit_drain import CallEnd
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
    """Runs a prepared call to its end. Time exists only here: one pass of the loop is one tick."""

    def __init__(
        self,
        attempt: Attempt,
        sync: StateSync,
        recording: RecordingWriter,
        on_tick: Callable[[int], None] | None = None,
    ) -> None:
        self._attempt = attempt
        self._sync = sync
        self._recording = recording
        self._on_tick = on_tick
        settings = attempt.settings
        self._end = CallEnd(
            max_ms=round(settings.max_duration_s * 1000),
            exit_grace_ms=round(settings.exit_grace_s * 1000),
            drain_ms=round(settings.drain_s * 1000),
        )
        self._agent = attempt.party(Side.AGENT)
        self._user = attempt.party(Side.USER)
        self.media_ms = 0

    async def run(self) -> StopReason:
        """Kick off and go on until the call ends.

        Raises:
            BotError: a side died, hung, or broke the protocol.
            ReconcileFailed: the databases could not be kept equal.
        """
        kick_off = self._attempt.settings.kick_off
        await self._agent.connection.send_text(kick_off)
        self._attempt.log.write(CallStarted(kick_off=kick_off))
        started = self._attempt.clock.monotonic()
        while True:
            await self._tick()
            reason = self._end.decide(self.media_ms, self._agent.activity, self._user.activity)
            if reason is not None:
                return reason
            if self._attempt.settings.pace == "wall":
                ahead = started + self.media_ms / 1000 - self._attempt.clock.monotonic()
                await self._attempt.clock.sleep(max(ahead, 0.0))

    async def _tick(self) -> None:
        self._attempt.log.t_ms = self.media_ms
        to_agent, to_user = self._user.said, self._agent.said
        replies = await self._grant(to_agent, to_user)
        self._recording.append(to_agent, to_user)
        self.media_ms += TICK_MS
        writes: list[Write] = []
        for party in (self._agent, self._user):
            self._take_messages(party, replies[party.side].inbound, writes)
            self._take_sound(party, replies[party.side])
        if writes:
            await self._sync.settle(writes)
        if self._on_tick is not None:
            self._on_tick(self.media_ms)

    async def _grant(self, to_agent: bytes, to_user: bytes) -> dict[Side, TickReply]:
        try:
            futures = {
                Side.AGENT: await self._agent.connection.start_grant(to_agent),
                Side.USER: await self._user.connection.start_grant(to_user),
            }
            await self._wait(futures)
        finally:
            self._agent.connection.abandon_grant()
            self._user.connection.abandon_grant()
        return {side: future.result() for side, future in futures.items()}

    async def _wait(self, futures: dict[Side, asyncio.Future[TickReply]]) -> None:
        """Wait for both replies; the bot with the shorter bound is given up first."""
        bounds = {side: self._attempt.party(side).tick_timeout_s(self._attempt.settings) for side in Side}
        waited = 0.0
        for side in sorted(Side, key=lambda side: bounds[side]):
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
                if isinstance(event, ExitRequested) and event.side is Side.AGENT:
                    self._end.request_exit(self.media_ms)
            self._refuse(party.side, item)

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
