"""Playing calls without sound to their traces, from tests that are no coroutines."""

from __future__ import annotations

import asyncio

from duologue.brains.brain import Brain
from duologue.records.scenario import Scenario
from duologue.runner.text_calls import TextCalls
from duologue.text.call import play_text_call
from duologue.text.noise import CLEAN, Noise
from duologue.trace.reader import Trace


def run_text_call(scenario: Scenario, agent: str, *, mutation: str = "", noise: Noise = CLEAN, seed: int = 0) -> Trace:
    return asyncio.run(TextCalls(agent, mutation, noise).play(scenario, seed))


def between(scenario: Scenario, agent: Brain, user: Brain, *, seed: int | str = 0) -> Trace:
    return asyncio.run(play_text_call(scenario, agent, user, seed=seed))
