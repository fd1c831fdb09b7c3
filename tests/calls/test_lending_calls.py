"""Tools of the harness on an HTTP service, over real speech in lock-step, with a caller that is a machine."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from duologue.brains.reply import BrainReply
from duologue.clock import SystemClock
from duologue.config import TtsConfig
from duologue.records.event import DomainEvent, Fault, HeardText, UtterancePlayed
from duologue.records.outcome import OutcomeKind, StopReason
from duologue.records.scenario import Scenario
from duologue.runner.bot_calls import BotCalls
from duologue.runner.settings import RunSettings
from duologue.speech.spoken import SpokenUtterances
from duologue.toolkit.resource_life import RunResources, started_resources
from tests.bots.running_bot import RunningBot
from tests.lending import BEFORE, RIGHT, Done, lending_scenarios, run_attempt

pytestmark = [pytest.mark.socket, pytest.mark.speech]


@pytest.fixture(scope="module")
def lending() -> Iterator[dict[str, Scenario]]:
    with lending_scenarios() as scenarios:
        yield scenarios


@pytest.fixture
async def desk(lending: dict[str, Scenario]) -> AsyncIterator[RunResources]:
    async with started_resources(lending.values()) as resources:
        yield resources


async def talk(folder: Path, bot: RunningBot, scenario: Scenario, resources: RunResources) -> Done:
    settings = RunSettings(agent_url=bot.url, user_url="ws://127.0.0.1:1", min_agent_turns=0)
    speak = SpokenUtterances(TtsConfig(pitch=0.8), folder.parent / "speech")
    return await run_attempt(
        folder, scenario, BotCalls(settings, SystemClock(), speak=speak, resources=resources), settings
    )


async def test_agent_that_hears_and_renews_passes_and_rescoring_agrees(
    tmp_path: Path, start_bot: Callable[..., RunningBot], lending: dict[str, Scenario], desk: RunResources
) -> None:
    done = await talk(tmp_path / "a", start_bot("reference"), lending["whales"], desk)
    assert done.trace.of(Fault) == []
    assert [event.clip for event in done.trace.of(UtterancePlayed)] == ["request", "card"]
    assert "renew my book" in " ".join(event.text for event in done.trace.of(HeardText)).lower()
    assert len(done.trace.of(DomainEvent)) == 1
    assert done.held == {"initial": BEFORE, "final": RIGHT}
    assert (done.result.outcome.kind, done.verdict) == (OutcomeKind.PASSED, True), done.result.outcome.detail
    assert (done.result.stop_reason, done.reported["card_said"]) == (StopReason.CALLER_DONE, True)
    assert done.again == done.result


async def test_agent_that_only_talks_fails(
    tmp_path: Path, start_bot: Callable[..., RunningBot], lending: dict[str, Scenario], desk: RunResources
) -> None:
    def talks(messages: list[dict[str, Any]], tools: list[str]) -> BrainReply:
        return BrainReply("It is renewed." if messages[-1]["role"] == "user" else "")

    done = await talk(tmp_path / "a", start_bot(decide=talks), lending["whales"], desk)
    assert (done.result.outcome.kind, done.verdict) == (OutcomeKind.FAILED, False), done.result.outcome.detail
    assert done.held == {"initial": BEFORE, "final": BEFORE}
    assert done.again == done.result
