"""One call from connecting to closed files. A bot's trouble becomes an event, never an exception."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path

from duologue.audio.recording import RecordingWriter
from duologue.bridge.call_log import CallLog
from duologue.bridge.caller import build_caller
from duologue.bridge.clip import Clip
from duologue.bridge.conversation import Conversation, stop_reason_of
from duologue.bridge.ending import final_state, pull_both
from duologue.bridge.party import CallContext, build_party
from duologue.bridge.peer import Peer
from duologue.bridge.preparation import connect_both, prepare
from duologue.bridge.reconcile import Reconciler
from duologue.bridge.settings import CallSettings, PlanPayload
from duologue.clock import Clock
from duologue.errors import BotError, InitializationFailed, ReconcileFailed
from duologue.records.action import Side
from duologue.records.event import CallEnded, Event, RecordingWritten
from duologue.records.outcome import Cause, StopReason
from duologue.records.scenario import Scenario
from duologue.trace.writer import TraceWriter

__all__ = ["Call", "CallSettings", "PlanPayload", "RECORDING_NAME"]

RECORDING_NAME = "conversation_log.wav"
_CLOSE_TIMEOUT_S = 3.0


class Call:
    """One attempt at one scenario: a connection to each bot, two shadows, a trace and a recording.

    Args:
        scenario: what is played.
        settings: addresses and bounds.
        writer: the open trace; its header holds the epoch. The call closes it.
        folder: where the recording goes; must exist.
        clock: wall time, for pacing and for ``wall_ms``.
        plan: what an oracle brain on the agent side is told, when it asks for it.
        clips: the sound of everything that the scenario's caller can play, by name; empty when a bot calls.
        peers: who holds a side that no bot holds.
        on_event: called with each event.
        on_tick: called after each tick with the media time reached, in milliseconds.
    """

    def __init__(
        self,
        scenario: Scenario,
        settings: CallSettings,
        writer: TraceWriter,
        folder: Path,
        clock: Clock,
        plan: PlanPayload | None = None,
        clips: Mapping[str, Clip] | None = None,
        peers: Mapping[Side, Peer] | None = None,
        on_event: Callable[[Event], None] | None = None,
        on_tick: Callable[[int], None] | None = None,
    ) -> None:
        self._writer = writer
        self._folder = folder
        self._on_tick = on_tick
        self._log = CallLog(writer, on_event)
        self._caller = build_caller(scenario, clips or {}, settings, writer.header.epoch)
        held = peers or {}
        parties = {side: build_party(side, scenario, settings, clock, held.get(side)) for side in scenario.bot_sides}
        self._attempt = CallContext(scenario, settings, writer.header.epoch, self._log, clock, parties, plan)
        self._shadows: Reconciler | None = None
        self._conversation: Conversation | None = None
        self._recording: RecordingWriter | None = None
        self._has_ended = False

    async def run(self) -> None:
        """Run the call. Trouble of a bot is written as a fault; only cancellation is raised."""
        self._started = self._attempt.clock.monotonic()
        try:
            await self._run()
        except asyncio.CancelledError:
            self._abort()
            if not self._has_ended:
                self._end(StopReason.INTERRUPTED)
            raise
        finally:
            self._close_files()

    async def _run(self) -> None:
        try:
            reason = await self._talk()
        except Exception as error:  # noqa: BLE001 - the boundary of the attempt
            self._log.fault(self._cause(error), error)
            reason = StopReason.NOT_STARTED if self._conversation is None else stop_reason_of(error)
        self._end(reason)
        try:
            if self._shadows is not None and self._conversation is not None:
                await pull_both(self._attempt, self._shadows)
        except Exception as error:  # noqa: BLE001 - the boundary of the attempt
            self._log.fault(self._cause(error), error)
        await self._disconnect()

    async def _talk(self) -> StopReason:
        await connect_both(self._attempt)
        self._shadows = await prepare(self._attempt)
        self._recording = RecordingWriter(self._folder / RECORDING_NAME, self._attempt.settings.sample_rate_hz)
        self._conversation = Conversation(self._attempt, self._shadows, self._recording, self._caller, self._on_tick)
        return await self._conversation.run()

    def _end(self, reason: StopReason) -> None:
        media_ms = self._conversation.media_ms if self._conversation is not None else 0
        wall_ms = round((self._attempt.clock.monotonic() - self._started) * 1000)
        self._log.t_ms = media_ms
        self._log.write(CallEnded(stop_reason=reason, media_ms=media_ms, wall_ms=wall_ms))
        self._has_ended = True

    def _close_files(self) -> None:
        try:
            if self._shadows is not None:
                self._log.write(final_state(self._shadows))
            if self._recording is not None:
                info = self._recording.close()
                self._log.write(
                    RecordingWritten(
                        path=info.path.name,
                        sha256=info.sha256,
                        sample_rate_hz=info.sample_rate_hz,
                        samples=info.samples,
                    )
                )
        finally:
            self._writer.close()

    async def _disconnect(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_TIMEOUT_S):
                await asyncio.gather(*(party.connection.close() for party in self._attempt.parties.values()))
        self._abort()

    def _abort(self) -> None:
        for party in self._attempt.parties.values():
            party.connection.abort()

    @staticmethod
    def _cause(error: Exception) -> Cause:
        match error:
            case InitializationFailed():
                return Cause.INIT
            case ReconcileFailed():
                return Cause.SYNC
            case BotError():
                return Cause.TRANSPORT
            case _:
                return Cause.HARNESS
