"""One call between whoever holds the two sides, from connecting to closed files, to be held by ``hold_call``."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

from duologue.audio.line import Line
from duologue.bridge.call_recording import CallRecording
from duologue.bridge.caller import build_player
from duologue.bridge.clip import Clip
from duologue.bridge.conversation import Conversation
from duologue.bridge.ending import pull_both
from duologue.bridge.party import CallContext, HeldCaller, build_party
from duologue.bridge.peer import Peer
from duologue.bridge.preparation import connect_both, prepare
from duologue.bridge.reconcile import Reconciler
from duologue.bridge.settings import CallSettings, PlanPayload
from duologue.clock import Clock
from duologue.records.action import Side
from duologue.records.event import Event
from duologue.records.outcome import StopReason
from duologue.records.scenario import Scenario
from duologue.toolkit.resources import Clones
from duologue.toolkit.state_events import final_state
from duologue.trace.call_trace import CallTrace

__all__ = ["Call", "CallSettings", "PlanPayload"]

_CLOSE_TIMEOUT_S = 3.0
"""Seconds of real time that a bot has to answer the closing handshake, which takes milliseconds, before it is cut."""


class Call:
    """One attempt at one scenario: a connection to each bot, two shadows and a recording.

    Args:
        scenario: what is played.
        settings: addresses and bounds.
        trace: what is written; its header holds the epoch.
        folder: where the recording goes; must exist.
        clock: wall time, for pacing.
        plan: what an oracle brain on the agent side is told, when it asks for it.
        clips: the sound of everything that the scenario's caller can play, by name; empty when a bot calls.
        peers: who holds a side that no bot holds.
        clones: what the attempt has of the domain's resources; who made them closes them.
    """

    def __init__(
        self,
        scenario: Scenario,
        settings: CallSettings,
        trace: CallTrace,
        folder: Path,
        clock: Clock,
        plan: PlanPayload | None = None,
        clips: Mapping[str, Clip] | None = None,
        peers: Mapping[Side, Peer] | None = None,
        clones: Clones | None = None,
    ) -> None:
        self._folder = folder
        held = peers or {}
        parties = {side: build_party(side, scenario, settings, clock, held.get(side)) for side in scenario.bot_sides}
        player = build_player(scenario, clips or {}, settings, trace.header.epoch)
        self._caller = player or HeldCaller(parties[Side.USER])
        self._clones = clones or Clones()
        self._attempt = CallContext(scenario, settings, trace.header.epoch, trace, clock, parties, plan, self._clones)
        self._shadows: Reconciler | None = None
        self._recording: CallRecording | None = None

    async def talk(self) -> StopReason:
        """Connect, prepare both sides and let them talk until the call is over; return why it is.

        Raises:
            BotError: a side is missing, died, hung, or broke the protocol.
            ScenarioError: the call could not be prepared, kept equal, or kept on time.
            ResourceFailed: a resource of the domain died.
        """
        await connect_both(self._attempt)
        self._shadows = await prepare(self._attempt)
        await self._write_clones("initial")
        conditions, rate_hz = self._attempt.scenario.line, self._attempt.settings.sample_rate_hz
        self._recording = CallRecording(self._folder, rate_hz, keeps_said=not conditions.is_clean)
        line = Line(conditions, self._attempt.epoch, rate_hz)
        return await Conversation(self._attempt, self._shadows, line, self._recording, self._caller).run()

    async def part(self) -> None:
        """Pull context and summary of every bot that still answers and what the clones hold, then hang up.

        Raises:
            ScenarioError: the shadows could not be compared.
            ResourceFailed: a clone that was in order until now is not.
        """
        try:
            if self._shadows is not None and self._attempt.log.has_started:
                await pull_both(self._attempt, self._shadows)
                if self._clones.failure is None:
                    await self._write_clones("final")
        finally:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_CLOSE_TIMEOUT_S):
                    await asyncio.gather(*(party.connection.close() for party in self._attempt.parties.values()))

    async def _write_clones(self, moment: Literal["initial", "final"]) -> None:
        for snapshot in await self._clones.snapshots(moment):
            self._attempt.log.write(snapshot)

    def close(self) -> Iterable[Event]:
        """Drop every connection; yield both shadows as they stand, then what was recorded."""
        for party in self._attempt.parties.values():
            party.connection.abort()
        if self._shadows is not None:
            yield final_state(self._shadows.dual)
        if self._recording is not None:
            yield self._recording.close()
