"""The tick loop: grant the bots 20 ms, swap their sound, record it, handle their messages, decide."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from functools import partial

from duologue.audio.line import Line
from duologue.audio.pcm import level_dbfs
from duologue.bridge.bot_events import action_data
from duologue.bridge.call_recording import CallRecording
from duologue.bridge.caller import Caller, as_heard
from duologue.bridge.connection import Inbound, TickReply
from duologue.bridge.exit_drain import CallEnd
from duologue.bridge.foreign_tools import ForeignTools, ToolRequest, parse_tool_call
from duologue.bridge.party import CallContext, Party
from duologue.bridge.realtime import RealtimeConnection
from duologue.bridge.realtime_pacing import Pacer
from duologue.bridge.realtime_work import BackgroundWork, Job
from duologue.bridge.reconcile import Reconciler, Write, parse_write
from duologue.bridge.state_sync import StateSync
from duologue.errors import BotUnavailable, ProtocolViolation, ReconcileFailed
from duologue.protocol.messages import TICK_MS, RtviMessage
from duologue.protocol.requests import Stray, StrayAnswer
from duologue.records.action import Side
from duologue.records.event import (
    CallStarted,
    ExitRequested,
    Interrupted,
    LoopTimed,
    SpokenText,
    ToolCalled,
    ToolReturned,
)
from duologue.records.outcome import StopReason


class Conversation:
    """Runs a prepared call to its end. Time exists only here: one pass of the loop is one tick.

    ``line`` is between the sides: what one says is heard by the other once it has passed it. ``caller`` is
    whoever calls.
    """

    def __init__(
        self,
        attempt: CallContext,
        shadows: Reconciler,
        line: Line,
        recording: CallRecording,
        caller: Caller,
    ) -> None:
        self._attempt = attempt
        self._sync = StateSync(attempt, shadows)
        self._tools = ForeignTools(attempt, shadows, self._sync)
        self._world = deque(attempt.scenario.world_events)
        self._background: BackgroundWork | None = None
        self._pacer: Pacer | None = None
        self._line = line
        self._recording = recording
        self._caller = caller
        self._words: deque[tuple[int, str]] = deque()
        settings = attempt.settings
        self._end = CallEnd(
            max_ms=round(settings.max_duration_s * 1000),
            exit_grace_ms=round(settings.exit_grace_s * 1000),
            drain_ms=round(settings.drain_s * 1000),
            to_user_ms=line.to_user.delay_ms,
            to_agent_ms=line.to_agent.delay_ms,
        )
        self._agent = attempt.party(Side.AGENT)
        self.media_ms = 0

    async def run(self) -> StopReason:
        """Kick off and go on until the call ends.

        Raises:
            BotError: a side died, hung, or broke the protocol.
            ReconcileFailed: the databases could not be kept equal.
            LoopTooLate: a call in real time could not be kept on time.
        """
        settings, clock = self._attempt.settings, self._attempt.clock
        self._kick_off = "" if self._attempt.scenario.caller.opens_call else settings.kick_off
        self._attempt.log.write(CallStarted(kick_off=self._kick_off))
        if not settings.is_realtime:
            self._pacer = Pacer(clock) if settings.is_paced else None
            return await self._converse(kick_off_ms=0)
        self._pacer = Pacer(clock, settings.realtime)
        try:
            async with BackgroundWork() as self._background:
                reason = await self._converse(kick_off_ms=round(settings.realtime.kick_off_after_s * 1000))
                await self._background.finish()
                self._pacer.finish()
                return reason
        finally:
            self._log_timing(self._pacer)

    async def _converse(self, *, kick_off_ms: int) -> StopReason:
        while True:
            if self._kick_off and self.media_ms >= kick_off_ms:
                await self._agent.connection.send_text(self._kick_off)
                self._kick_off = ""
            await self._tick()
            reason = self._decide()
            if reason is not None:
                return reason
            if self._pacer is not None:
                await self._pacer.wait(self.media_ms)

    def _log_timing(self, pacer: Pacer) -> None:
        parties = self._attempt.parties.items()
        gaps = {side: peer.gaps for side, party in parties if isinstance(peer := party.connection, RealtimeConnection)}
        self._attempt.log.write(
            LoopTimed(ticks=pacer.ticks, late_ticks=pacer.late_ticks, max_lag_ms=pacer.max_lag_ms, gaps=gaps)
        )

    def _decide(self) -> StopReason | None:
        reason = self._end.decide(self.media_ms, self._agent.activity, self._caller.activity)
        if reason is None and not self._is_ending and self._caller.has_hung_up:
            return StopReason.CALLER_DONE
        return reason

    @property
    def _is_ending(self) -> bool:
        return self._end.exit_at_ms is not None

    def _caller_sound(self) -> bytes:
        """Return what the caller says in this tick, to which all has come that the line brought it so far."""
        while self._words and self._words[0][0] <= self.media_ms:
            self._caller.hear(self._words.popleft()[1])
        agent = as_heard(self._agent.activity, self._line.to_user)
        pcm, events = self._caller.step(self.media_ms, agent, may_start=not self._is_ending)
        for event in events:
            self._attempt.log.write(event)
        return pcm

    async def _tick(self) -> None:
        self._attempt.log.t_ms = self.media_ms
        said, heard = self._cross()
        replies = await self._grant(heard)
        self._recording.append(said, heard)
        self.media_ms += TICK_MS
        self._attempt.log.media_ms = self.media_ms
        writes: list[Write] = []
        calls: list[ToolRequest] = []
        for party in self._attempt.parties.values():
            self._take_messages(party, replies[party.side].inbound, writes, calls)
            self._take_sound(party, replies[party.side])
        if writes or calls:
            await self._do(lambda: self._settle(writes, calls))
        while self._world and self._world[0].at_ms <= self.media_ms:
            event = self._world.popleft()
            await self._do(partial(self._sync.happen, event))
        if self._background is not None:
            self._background.check()
        self._attempt.log.ticked()

    def _cross(self) -> tuple[dict[Side, bytes], dict[Side, bytes]]:
        """Return what each side says in this tick and, by the side that hears it, what the line makes of it."""
        by_agent = self._agent.said
        to_user = self._line.to_user.carry(by_agent)
        by_user = self._caller_sound()
        to_agent = self._line.to_agent.carry(by_user)
        return {Side.AGENT: by_agent, Side.USER: by_user}, {Side.AGENT: to_agent, Side.USER: to_user}

    async def _do(self, job: Job) -> None:
        """Do a job before the next tick, or beside the ticks of a call in real time."""
        if self._background is not None:
            self._background.add(job)
        else:
            await job()

    async def _settle(self, writes: list[Write], calls: list[ToolRequest]) -> None:
        if writes:
            await self._sync.settle(writes)
        for call in calls:
            has_ended = await self._tools.run(call)
            self._attempt.party(call.side).activity.open_tools.discard(call.call_id)
            if has_ended:
                self._hang_up(self._attempt.party(call.side))

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
        party.activity.has_unplayed = reply.has_more
        if reply.lag_ms and self._pacer is not None:
            self._pacer.note_lag(reply.lag_ms, f"the {party.side} bot")

    def _take_messages(
        self, party: Party, inbound: tuple[Inbound, ...], writes: list[Write], calls: list[ToolRequest]
    ) -> None:
        was_busy = party.activity.is_busy
        was_interrupted = False
        for item in inbound:
            was_busy = was_busy or party.activity.is_busy
            party.activity.observe(item)
            if (data := action_data(item)) is not None:
                writes.append(parse_write(party.side, data))
                continue
            if not party.hosts_tools and (call := parse_tool_call(party.side, item)) is not None:
                if self._tools.admit(call):
                    party.activity.open_tools.add(call.call_id)
                    calls.append(call)
                continue
            for event in party.events.translate(item):
                if isinstance(event, Interrupted):
                    if was_interrupted or not was_busy:
                        continue
                    was_interrupted = True
                if not party.hosts_tools and isinstance(event, ToolCalled | ToolReturned):
                    continue  # Its calls are logged where they are run.
                self._attempt.log.write(event)
                if party.side is Side.AGENT and isinstance(event, SpokenText):
                    self._words.append((self.media_ms + self._line.to_user.delay_ms, event.text))
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
        if not isinstance(item, RtviMessage) or not isinstance(item.data, dict) or item.data.get("fatal") is not True:
            return
        if item.type == "error" or (item.type == "server-message" and item.data.get("type") == "bot-error"):
            what = item.data.get("error") or item.data.get("message")
            raise BotUnavailable(f"the {side} bot reported a fatal error: {what}", side=side)
