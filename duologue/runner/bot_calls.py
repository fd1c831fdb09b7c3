"""Attempts over the line: bots, people and recordings, in lock-step or in real time."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from duologue.bridge.call import Call
from duologue.bridge.peer import Peer
from duologue.bridge.settings import CallSettings, PlanPayload
from duologue.clock import Clock
from duologue.errors import BotUnavailable, DuologueError, ScenarioError
from duologue.records.action import ReferenceAction, Side
from duologue.records.outcome import Cause, StopReason
from duologue.records.scenario import Scenario
from duologue.runner.attempt import Attempt
from duologue.runner.mutation import MUTATION_KINDS, build_mutants
from duologue.runner.settings import RunSettings
from duologue.runner.utterances import load_clips
from duologue.speech.utterances import Speaker
from duologue.toolkit.resource_life import RunResources, attempt_clones
from duologue.trace.call_trace import CallTrace
from duologue.trace.held_call import hold_call

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BotCalls:
    """Holds calls over the bridge.

    Args:
        settings: the run's settings: addresses, pace, protocol.
        clock: wall time, for pacing and bounds.
        ensure_bots: makes sure that bots which this run started are alive; raises BotUnavailable.
        speak: makes the sound of callers' texts.
        peers: who holds a side that no bot holds.
        resources: makes the clones of an attempt; None when the run has no resources.
    """

    settings: RunSettings
    clock: Clock
    ensure_bots: Callable[[], Awaitable[None]] | None = None
    speak: Speaker | None = None
    peers: Mapping[Side, Peer] = field(default_factory=dict)
    resources: RunResources | None = None

    def header(self) -> Mapping[str, Any]:
        """Return nothing: the run's settings say it all."""
        return {}

    async def hold(self, attempt: Attempt, trace: CallTrace) -> None:
        """Hold the call of one attempt; bots that are gone and callers without sound end it before it starts.

        Raises:
            ResourceFailed: a resource could not be cloned.
        """
        try:
            if self.ensure_bots is not None:
                await self.ensure_bots()
        except BotUnavailable as error:
            logger.error("a bot could not be started again", extra={"error": str(error)})
            trace.break_off(error, reason=StopReason.BOT_LOST)
            return
        try:
            clips = load_clips(attempt.scenario, self.speak)
        except DuologueError as error:
            trace.break_off(error, cause=Cause.INIT)
            return
        async with attempt_clones(self.resources, attempt.scenario, attempt.epoch) as clones:
            call = Call(
                attempt.scenario,
                self._call_settings(attempt.scenario),
                trace,
                attempt.folder,
                self.clock,
                plan=build_plan(attempt.scenario),
                clips=clips,
                peers=self.peers,
                clones=clones,
            )
            await hold_call(call, trace, self.clock)

    def _call_settings(self, scenario: Scenario) -> CallSettings:
        return CallSettings(
            agent_url=self.settings.agent_url,
            user_url=self.settings.user_url,
            token=self.settings.token,
            max_duration_s=scenario.max_duration_s,
            pace=self.settings.pace,
            protocol=self.settings.bot_protocol,
            realtime=self.settings.realtime,
            caller_gap_s=self.settings.caller_gap_s,
            caller_patience_s=self.settings.caller_patience_s,
        )


def build_plan(scenario: Scenario) -> PlanPayload:
    """Return what a scripted agent may ask for: the reference actions, and the wrong plans that there are."""
    mutations: dict[str, Sequence[ReferenceAction]] = {}
    for kind in MUTATION_KINDS:
        try:
            mutations.update(build_mutants(scenario, [kind]))
        except ScenarioError as error:
            logger.debug("no wrong plan", extra={"kind": kind, "error": str(error)})
    return PlanPayload(scenario.reference_actions, mutations)
