"""One telecom call over real speech with a scripted model behind HTTP on each side."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from duologue.bots.services import Models
from duologue.clock import SystemClock
from duologue.config import BotConfig
from duologue.records.event import Event
from duologue.records.result import ScenarioResult
from duologue.records.scenario import Scenario
from duologue.runner.attempt import Attempt, AttemptRunner
from duologue.runner.bot_calls import BotCalls
from duologue.runner.build import build_scenarios
from duologue.runner.observer import SilentObserver
from duologue.runner.settings import RunSettings, Selection
from duologue.testing.model_brains import BrainModels, scripts_by_epoch
from duologue.testing.model_script import ModelFault, ModelReply
from duologue.testing.openai_server import ModelServer
from duologue.trace.reader import Trace, load_trace
from tests.bots.running_bot import RunningBot

SHORT = "tau2_telecom__service_issue__airplane_mode_on__unseat_sim_card"
AGENT_KEY, USER_KEY = "key-of-the-agent", "key-of-the-user"


@dataclass(frozen=True)
class Played:
    """What a call left behind."""

    folder: Path
    result: ScenarioResult
    trace: Trace
    server: ModelServer

    def of(self, kind: type[Event], side: str) -> list:
        return [event for event in self.trace.of(kind) if getattr(event, "side", None) == side]


async def play_with(
    folder: Path, models: Models, scenario: Scenario, bots: Mapping[str, Mapping[str, object]]
) -> ScenarioResult:
    """Play one scenario with bots of these settings, into a folder of its name, and return its result."""
    results: list[ScenarioResult] = []
    with contextlib.ExitStack() as stack:
        urls: dict[str, Any] = {}
        for side, sections in bots.items():
            config = BotConfig.model_validate({"server": {"port": 0}, **sections})
            urls[f"{side}_url"] = stack.enter_context(RunningBot(config, models)).url
        settings, clock = RunSettings(**urls), SystemClock()
        runner = AttemptRunner(settings, clock, SilentObserver(), BotCalls(settings, clock))
        await runner.run(Attempt(scenario, folder / scenario.name, "run"), results.append)
    return results[0]


async def play(
    folder: Path,
    models: Models,
    *faults: ModelFault,
    retell: Callable[[ModelReply], ModelReply] = lambda reply: reply,
    **llm: Any,
) -> Played:
    """Play one scenario; ``llm`` changes the settings of both bots."""
    (scenario,) = build_scenarios(Selection(names=(SHORT,)))
    with ModelServer(BrainModels(scripts_by_epoch([scenario]), retell=retell), faults) as server:
        given = {"type": "openai", "base_url": server.url, "charge": "fixed:400", "request_timeout_s": 5, **llm}
        bots = {
            "agent": {"llm": {**given, "model": "reference", "api_key": AGENT_KEY}},
            "user": {"llm": {**given, "model": "scripted_user", "api_key": USER_KEY}, "tts": {"pitch": 0.8}},
        }
        result = await play_with(folder, models, scenario, bots)
    return Played(folder / scenario.name, result, load_trace(folder / scenario.name / "trace.jsonl"), server)
