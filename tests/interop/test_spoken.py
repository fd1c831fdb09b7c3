"""Foreign agents against our user bot, over speech and in real time; all calls are held at once."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import numpy as np
import pytest

import duologue.bots.context
from duologue.bots.services import load_models
from duologue.brains.brain import build_brain
from duologue.brains.reply import BrainReply
from duologue.bridge.call import Call, CallSettings
from duologue.bridge.settings import RealtimeSettings
from duologue.clock import SystemClock
from duologue.config import BotConfig, TtsConfig
from duologue.records import event as ev
from duologue.records.action import Side
from duologue.records.outcome import EvidenceSource, OutcomeKind
from duologue.records.scenario import Scenario
from duologue.runner.build import build_scenarios
from duologue.runner.settings import Selection
from duologue.speech.hibari import HibariVoice
from duologue.trace.reader import load_trace
from tests.bots.running_bot import RunningBot
from tests.bridge.stage import hold as hold_to_the_end
from tests.bridge.stage import open_trace
from tests.interop.foreign_bot import ForeignBot
from tests.interop.stage import Played

pytestmark = [pytest.mark.socket, pytest.mark.speech]

ROAMING = "tau2_telecom__mms_issue__bad_network_preference__user_abroad_roaming_disabled_on"
EXAMPLES = Path(__file__).parents[2] / "examples"
ENDPOINTING_S = (0.8, 1.5, 2.5)
QUESTION = "What is your name?"
SHARED_MACHINE = RealtimeSettings(max_lag_ms=3000, max_late_share=1.0)


def give_name(messages: list[dict], tools: list[str]) -> BrainReply:
    has_answered = any(message["role"] == "assistant" for message in messages)
    return BrainReply() if has_answered else BrainReply("My name is Ada Brown.")


class _Given:
    decide = staticmethod(give_name)


@contextlib.asynccontextmanager
async def example(name: str) -> AsyncIterator[str]:
    """Run an example as its own process and give its address."""
    command = (sys.executable, str(EXAMPLES / name), "--port", "0")
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(30):
            line = (await process.stdout.readline()).decode()
        assert line.startswith("ready: ws://"), line
        yield line.split()[1]
    finally:
        process.terminate()
        await process.wait()


async def hold(folder: Path, scenario: Scenario, agent_url: str, user_url: str) -> Played:
    trace, clock = open_trace(folder, scenario), SystemClock()
    settings = CallSettings(agent_url, user_url, 60.0, protocol="realtime", realtime=SHARED_MACHINE)
    await hold_to_the_end(Call(scenario, settings, trace, folder, clock), trace, clock)
    return Played(folder, load_trace(folder / "trace.jsonl"))


async def hold_example(folder: Path, name: str, user_url: str) -> Played:
    (scenario,) = build_scenarios(Selection(names=(ROAMING,)))
    async with example(name) as url:
        return await hold(folder / name, scenario, url, user_url)


async def hold_question(folder: Path, user_url: str) -> Played:
    """An agent that sends sound only while it speaks asks something and waits for the answer."""
    voice = HibariVoice(TtsConfig(), 24000)
    pcm = b"".join(word.audio for word in voice.speak(QUESTION))

    async def asks(bot: ForeignBot) -> None:
        await bot.play(pcm, rest_s=0.095)
        await bot.hears_something()
        await asyncio.sleep(0.5)
        await bot.leave()

    (scenario,) = build_scenarios(Selection(names=("heating__target_too_low",)))
    async with ForeignBot(plan=asks, capabilities={"tools": "harness"}) as agent:
        return await hold(folder, scenario, agent.url, user_url)


async def hold_all(folder: Path, urls: list[str]) -> list[Played]:
    questions = [hold_question(folder / str(number), url) for number, url in enumerate(urls[1:])]
    names = ("foreign_agent.py", "forwarding_agent.py")
    return await asyncio.gather(*(hold_example(folder, name, urls[0]) for name in names), *questions)


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Played]]:
    build = build_brain
    lockstep = BotConfig.model_validate(
        {"server": {"port": 0}, "llm": {"type": "scripted_user"}, "tts": {"pitch": 0.8}}
    )
    waiting = [
        lockstep.model_copy(
            update={"llm": BotConfig().llm, "turn_taking": lockstep.turn_taking.model_copy(update=_timeout(seconds))}
        )
        for seconds in ENDPOINTING_S
    ]
    shared = load_models(lockstep)
    with contextlib.ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            duologue.bots.context,
            "build_brain",
            lambda kind, *rest: build(kind, *rest) if kind == "scripted_user" else _Given(),
        )
        bots = [stack.enter_context(RunningBot(config, shared)) for config in (lockstep, *waiting)]
        yield asyncio.run(hold_all(tmp_path_factory.mktemp("spoken"), [bot.url for bot in bots]))


def _timeout(seconds: float) -> dict[str, float]:
    return {"user_speech_timeout_s": seconds}


def test_an_agent_with_its_own_database_passes_and_is_checked_by_its_hash(calls: list[Played]) -> None:
    result = calls[0].result
    assert result.outcome.kind is OutcomeKind.PASSED, result.outcome
    assert result.evidence == {Side.AGENT: EvidenceSource.HASH, Side.USER: EvidenceSource.DIGEST}


def test_an_agent_that_forwards_its_tool_calls_passes_on_the_word_of_the_harness(calls: list[Played]) -> None:
    result = calls[1].result
    assert result.outcome.kind is OutcomeKind.PASSED, result.outcome
    assert result.evidence == {Side.AGENT: EvidenceSource.HARNESS, Side.USER: EvidenceSource.DIGEST}


@pytest.mark.parametrize("index", range(len(ENDPOINTING_S)))
def test_an_agent_that_sends_sound_only_while_it_speaks_is_answered(calls: list[Played], index: int) -> None:
    played = calls[2 + index]
    assert played.trace.of(ev.Fault) == []
    heard = [event.text for event in played.trace.of(ev.HeardText) if event.side is Side.USER and event.final]
    assert heard == [QUESTION]
    question = np.flatnonzero(np.abs(played.tracks.user_heard) > 100)[-1] / 16000
    answer = np.flatnonzero(np.abs(played.tracks.agent_heard) > 100)[0] / 16000
    assert ENDPOINTING_S[index] < answer - question < ENDPOINTING_S[index] + 4.0
