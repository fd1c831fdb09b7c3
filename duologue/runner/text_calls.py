"""Attempts without sound: scripted agents against each scenario's caller, into folders or in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from duologue.brains.brain import Brain
from duologue.bridge.settings import PlanPayload
from duologue.records.scenario import Scenario
from duologue.runner.attempt import Attempt
from duologue.runner.mutation import build_mutants
from duologue.text.brains import build_agent, build_user
from duologue.text.call import TextCall, play_text_call
from duologue.text.noise import CLEAN, Noise
from duologue.toolkit.resource_life import RunResources, attempt_clones
from duologue.trace.call_trace import CallTrace
from duologue.trace.held_call import hold_call
from duologue.trace.reader import Trace


@dataclass(frozen=True, slots=True)
class TextCalls:
    """Holds calls between brains.

    Args:
        agent: the kind of the agent's brain.
        mutation: the kind of wrong plan that it walks; empty for agents that walk none.
        noise: what happens to words on the way.
        resources: makes the clones of an attempt; None when the run has no resources.
    """

    agent: str
    mutation: str = ""
    noise: Noise = CLEAN
    resources: RunResources | None = None

    def header(self) -> Mapping[str, Any]:
        """Return what converses, and over which line; brains take as few turns as they like."""
        return {
            "channel": "text",
            "agent": self.agent,
            "mutation": self.mutation,
            "noise": asdict(self.noise),
            "min_agent_turns": 0,
        }

    async def hold(self, attempt: Attempt, trace: CallTrace) -> None:
        """Hold the call of one attempt.

        Raises:
            DuologueError: its scenario cannot be played without sound, or has no mutant of the kind.
        """
        scenario, seed = attempt.scenario, _seed(attempt.scenario, attempt.seed)
        agent, user = self._brains(scenario, seed)
        async with attempt_clones(self.resources, scenario, attempt.epoch) as clones:
            call = TextCall(scenario, trace, agent, user, noise=self.noise, seed=seed, clones=clones)
            await hold_call(call, trace)

    async def play(self, scenario: Scenario, seed: int = 0) -> Trace:
        """Play ``scenario`` in memory; the words and noise are those of an attempt with this seed.

        Raises:
            DuologueError: it cannot be played without sound, or has no mutant of the kind.
        """
        key = _seed(scenario, seed)
        agent, user = self._brains(scenario, key)
        async with attempt_clones(self.resources, scenario, f"text-{key}") as clones:
            return await play_text_call(scenario, agent, user, noise=self.noise, seed=key, clones=clones)

    def _brains(self, scenario: Scenario, seed: str) -> tuple[Brain, Brain]:
        mutants = build_mutants(scenario, kinds=(self.mutation,)) if self.mutation else {}
        plan = PlanPayload(scenario.reference_actions, mutants)
        return build_agent(scenario, self.agent, plan, mutation=self.mutation), build_user(scenario, f"text-{seed}")


def _seed(scenario: Scenario, seed: int) -> str:
    return f"{scenario.name}-{seed}"
