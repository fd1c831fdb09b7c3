"""Tools of the harness on an HTTP service, with an agent that is not ours, in real time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import soundfile

from duologue.records.action import Side
from duologue.records.caller import ClipSource
from duologue.records.event import DomainEvent, Fault, ToolReturned, UtterancePlayed
from duologue.records.outcome import EvidenceSource, OutcomeKind, StopReason
from duologue.records.scenario import Scenario
from duologue.runner.bot_calls import BotCalls
from duologue.runner.settings import RunSettings
from duologue.toolkit.resource_life import started_resources
from tests.interop.foreign_bot import ForeignBot, tone
from tests.interop.stage import PATIENT, FastClock
from tests.lending import BEFORE, RIGHT, lending_scenarios, run_attempt

pytestmark = [pytest.mark.socket, pytest.mark.slow]


@pytest.fixture(scope="module")
def lending() -> Iterator[dict[str, Scenario]]:
    with lending_scenarios() as scenarios:
        yield scenarios


@pytest.fixture
def beep(tmp_path: Path) -> Callable[[ClipSource], bytes]:
    """A voice that says everything as one second of a loud tone."""
    path = tmp_path / "beep.wav"
    soundfile.write(path, np.sin(np.arange(16000) / 5) * 0.5, 16000)
    content = path.read_bytes()
    return lambda source: content


@pytest.mark.parametrize(("book", "kind"), [("whales", OutcomeKind.PASSED), ("stars", OutcomeKind.FAILED)])
async def test_foreign_agent_works_on_the_service_through_forwarded_calls(
    tmp_path: Path,
    lending: dict[str, Scenario],
    beep: Callable[[ClipSource], bytes],
    book: str,
    kind: OutcomeKind,
) -> None:
    async def renews(bot: ForeignBot) -> None:
        await bot.play(tone(0.5))
        for _ in range(2):
            await bot.hears_something()
            await asyncio.sleep(0.4)
            await bot.play(tone(0.5))
        listed = await bot.forward("a", "list_loans", {})
        assert listed == BEFORE
        await bot.forward("b", "renew_loan", {"book": book, "days": 14})
        await bot.play(tone(0.5))

    async with (
        ForeignBot(plan=renews, capabilities={"tools": "harness"}) as agent,
        started_resources(lending.values()) as resources,
    ):
        clock = FastClock(4.0)
        settings = RunSettings(
            agent_url=agent.url,
            user_url="ws://127.0.0.1:1",
            bot_protocol="realtime",
            realtime=PATIENT,
            min_agent_turns=0,
        )
        calls = BotCalls(settings, clock, speak=beep, resources=resources)
        done = await run_attempt(tmp_path / "a", lending["whales"], calls, settings, clock)
    assert done.trace.of(Fault) == []
    assert [event.clip for event in done.trace.of(UtterancePlayed)] == ["request", "card"]
    assert [event.name for event in done.trace.of(ToolReturned)] == ["list_loans", "renew_loan"]
    assert len(done.trace.of(DomainEvent)) == 1
    assert (done.result.outcome.kind, done.verdict) == (kind, kind is OutcomeKind.PASSED), done.result.outcome.detail
    assert (done.held["final"] == RIGHT) is (kind is OutcomeKind.PASSED)
    assert (done.result.stop_reason, done.reported["card_said"]) == (StopReason.CALLER_DONE, True)
    assert done.result.evidence[Side.AGENT] is EvidenceSource.HARNESS
    assert done.again == done.result
