"""Real agent bots in this process, and attempts of recorded callers against them."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import duologue.bots.context
from duologue.bots.services import Models, load_models
from duologue.brains.reply import BrainReply
from duologue.clock import SystemClock
from duologue.config import BotConfig, TtsConfig
from duologue.records.result import ScenarioResult
from duologue.records.scenario import CatalogueOptions, Scenario
from duologue.registry import load_domain
from duologue.runner.attempt import Attempt, AttemptRunner
from duologue.runner.bot_calls import BotCalls
from duologue.runner.observer import SilentObserver
from duologue.runner.settings import RunSettings
from duologue.speech.spoken import SpokenUtterances
from duologue.toolkit.rules import CATALOGUES, RULES_NAME
from duologue.trace.reader import Trace, load_trace
from tests.bots.running_bot import RunningBot

ERRANDS = Path(__file__).parents[1] / "recorded_domain"


@dataclass(frozen=True)
class Done:
    """An attempt that is over."""

    result: ScenarioResult
    trace: Trace
    folder: Path


Run = Callable[..., Awaitable[Done]]


@pytest.fixture(scope="session")
def models() -> Models:
    return load_models(BotConfig())


@pytest.fixture(scope="module")
def errands() -> Iterator[dict[str, Scenario]]:
    """The scenarios of the recorded test domain by task id, loaded the way a user's own domain is."""
    packages = [importlib.import_module(name) for name in ("scenarios", "tools", "sync")]
    paths = [list(package.__path__) for package in packages]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DUOLOGUE_DOMAINS", str(ERRANDS))
        load_domain("errands")
        scenarios = CATALOGUES.get("errands", RULES_NAME).load(CatalogueOptions())
        yield {scenario.task_id: scenario for scenario in scenarios}
    for package, before in zip(packages, paths, strict=True):
        package.__path__[:] = before


@pytest.fixture
def start_bot(models: Models, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., RunningBot]]:
    """Start an agent bot: with ``llm.type``, or with a brain that the test gives as a function."""
    with contextlib.ExitStack() as stack:

        def start(kind: str = "reference", decide: Callable[..., BrainReply] | None = None) -> RunningBot:
            if decide is not None:
                monkeypatch.setattr(duologue.bots.context, "build_brain", lambda *_: _Given(decide))
            config = BotConfig.model_validate({"server": {"port": 0}, "llm": {"type": kind}})
            return stack.enter_context(RunningBot(config, models))

        yield start


@dataclass
class _Given:
    decide: Callable[..., BrainReply]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run one attempt of a recorded caller against a bot; there is no user bot anywhere."""

    async def attempt(bot: RunningBot, scenario: Scenario, name: str = "attempt") -> Done:
        folder = tmp_path / name
        results: list[ScenarioResult] = []
        settings = RunSettings(agent_url=bot.url, user_url="ws://127.0.0.1:1")
        speak = SpokenUtterances(TtsConfig(pitch=0.8), tmp_path / "speech")
        clock = SystemClock()
        runner = AttemptRunner(settings, clock, SilentObserver(), BotCalls(settings, clock, speak=speak))
        await runner.run(Attempt(scenario, folder, run_id="run"), results.append)
        return Done(results[0], load_trace(folder / "trace.jsonl"), folder)

    return attempt
