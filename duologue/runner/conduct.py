"""A planned run to its end: bots or a turn agent are brought up, every attempt is run, everything is taken down."""

from __future__ import annotations

import os
from dataclasses import replace

from duologue.clock import Clock
from duologue.records.action import Side
from duologue.records.run_layout import SPEECH_CACHE
from duologue.runner.attempt import AttemptRunner
from duologue.runner.batch import Batch
from duologue.runner.bot_calls import BotCalls
from duologue.runner.build import needed_bots
from duologue.runner.launch import launched_bots
from duologue.runner.observer import RunObserver
from duologue.runner.preflight import check_bots
from duologue.runner.settings import AdapterSettings, RunSettings
from duologue.runner.turn_calls import TurnCalls
from duologue.runner.utterances import build_speaker
from duologue.scoring.judge.client import Judge
from duologue.speech.build import build_transcriber
from duologue.speech.utterances import Speaker
from duologue.toolkit.resource_life import started_resources
from duologue.turn_agents.build import opened_turn_agent
from duologue.turn_agents.conversation import TurnSetup
from duologue.turn_agents.loop import Dispatch


async def conduct(
    settings: RunSettings, batch: Batch, observer: RunObserver, clock: Clock, judge: Judge | None = None
) -> None:
    """Run every attempt of ``batch`` against what the settings name.

    Raises:
        ConfigError: something that the run needs is not configured.
        ResourceFailed: a resource that the scenarios use could not be started.
        BotUnavailable: a bot that this run starts did not become ready.
        PreflightFailed: a bot is not there, or its model does not answer.
        TurnAgentUnavailable: the turn agent cannot be reached.
    """
    scenarios = [attempt.scenario for attempt in batch.attempts]
    speak = build_speaker(scenarios, settings.user_config, settings.output_dir / SPEECH_CACHE)
    if settings.adapter is not None:
        await _with_turn_agent(settings, settings.adapter, batch, observer, clock, judge, speak)
        return
    async with started_resources(scenarios, settings.resource_urls) as resources:
        calls = BotCalls(settings, clock, speak=speak, resources=resources)
        await _with_bots(AttemptRunner(settings, clock, observer, calls, judge), calls, batch)


async def _with_bots(runner: AttemptRunner, calls: BotCalls, batch: Batch) -> None:
    settings, clock = runner.settings, runner.clock
    sides = needed_bots([attempt.scenario for attempt in batch.attempts])
    if settings.launch is None:
        await check_bots(settings, sides, clock)
        await batch.run(runner)
    else:
        async with launched_bots(settings.launch, batch.run_dir, token=settings.token, sides=sides) as bots:
            user = bots.bots.get(Side.USER)
            user_url = user.url if user is not None else settings.user_url
            reached = replace(settings, agent_url=bots.bots[Side.AGENT].url, user_url=user_url)
            await check_bots(reached, sides, clock)
            calls = replace(calls, settings=reached, ensure_bots=bots.ensure_running)
            await batch.run(replace(runner, settings=reached, calls=calls))


async def _with_turn_agent(
    settings: RunSettings,
    adapter: AdapterSettings,
    batch: Batch,
    observer: RunObserver,
    clock: Clock,
    judge: Judge | None,
    speak: Speaker | None,
) -> None:
    utterances = [utterance for attempt in batch.attempts for utterance in attempt.scenario.caller.utterances]
    transcriber = build_transcriber(
        adapter.transcriber,
        languages={utterance.language for utterance in utterances},
        env=os.environ,
        model=adapter.model,
    )
    dispatch = Dispatch.ONCE if settings.is_one_shot else Dispatch.LOOP
    try:
        async with opened_turn_agent(adapter.name, url=adapter.url, env=os.environ, clock=clock) as agent:
            setup = TurnSetup(agent, adapter.name, transcriber, dispatch, speak)
            await batch.run(AttemptRunner(settings, clock, observer, TurnCalls(setup, clock), judge))
    finally:
        await transcriber.close()
