"""Speech to speech: a bot in real time against a local server of the OpenAI Realtime API that hears and speaks."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator

import numpy as np
import pytest
import soxr

from duologue.bots.services import Models, load_models
from duologue.brains.reply import BrainCall, BrainReply
from duologue.config import BotConfig, SttConfig, TtsConfig
from duologue.speech.hibari import HibariVoice
from duologue.speech.whisper import ShortWhisper
from duologue.testing.realtime_double import RealtimeDouble
from tests.interop.conftest import RunningWebsocketBot
from tests.interop.foreign_bridge import ForeignBridge

pytestmark = [pytest.mark.socket, pytest.mark.speech]

TOOLS = ["restore_supply", "EndConversationTool"]
KEY = "test-key"
STORY = "I am going to tell you a rather long story about a small boat on a wide and very quiet sea."


class Support:
    """Greets, restores the supply when the room is cold, says so; tells a story when asked to."""

    def decide(self, messages: list[dict], tools: list[str]) -> BrainReply:
        last = messages[-1]
        if last["role"] == "tool":
            return BrainReply("It is on again.")
        if "cold" in last["content"].lower():
            assert "restore_supply" in tools
            return BrainReply(calls=(BrainCall("restore_supply", {"account_id": "H7"}),))
        return BrainReply(STORY if "story" in last["content"].lower() else "Good morning.")


@pytest.fixture(scope="module")
def whisper() -> ShortWhisper:
    return ShortWhisper(SttConfig())


@pytest.fixture(scope="module")
def double(whisper: ShortWhisper) -> RealtimeDouble:
    voice = HibariVoice(TtsConfig(), 24000)

    def hear(audio: bytes) -> str:
        samples = np.frombuffer(audio, dtype="<i2").astype(np.float32) / 32768
        return whisper.transcribe(soxr.resample(samples, 24000, 16000))

    return RealtimeDouble(
        Support(), hear=hear, speak=lambda text: b"".join(w.audio for w in voice.speak(text)), key=KEY
    )


@pytest.fixture(scope="module")
def silero() -> Models:
    return load_models(s2s_config("ws://unused"))


def s2s_config(url: str, *, turns: str = "silence", key: str = KEY) -> BotConfig:
    llm = {"type": "openai_realtime", "model": "gpt-realtime", "api_key": key, "base_url": url}
    sections = {"pipeline": "s2s", "llm": llm, "turn_taking": {"type": turns}}
    return BotConfig.model_validate({"server": {"port": 0, "transport": "websocket"}, **sections})


@contextlib.asynccontextmanager
async def running(config: BotConfig, models: Models) -> AsyncIterator[RunningWebsocketBot]:
    """A bot on a thread, started and stopped while this loop goes on serving it."""
    bot = RunningWebsocketBot(config, models)
    await asyncio.to_thread(bot.__enter__)
    try:
        yield bot
    finally:
        await asyncio.to_thread(bot.__exit__)


@contextlib.asynccontextmanager
async def in_call(double: RealtimeDouble, models: Models, *, turns: str = "silence") -> AsyncIterator[ForeignBridge]:
    """A client of a bot on the double, in the middle of a prepared scenario."""
    double.conversations.clear()
    async with double.serving() as url, running(s2s_config(url, turns=turns), models) as bot:
        bridge = ForeignBridge(bot.url)
        cut = {"func_name": "cut_supply", "arguments": {"account_id": "H7"}}
        result = await bridge.prepare("You serve.", TOOLS, "heating", "heating/db", [cut])
        assert result["success"], result
        async with bridge.connected():
            await bridge.handshake()
            yield bridge


def said(bridge: ForeignBridge) -> str:
    return "".join(data["text"] for _, data in bridge.of("bot-tts-text"))


def heard(bridge: ForeignBridge) -> list[str]:
    return [data["text"] for _, data in bridge.of("user-transcription") if data["final"]]


@pytest.mark.parametrize("turns", ["silence", "service"])
async def test_a_call_goes_as_in_a_cascade_whoever_finds_the_turns(double, silero, caller, turns):
    async with in_call(double, silero, turns=turns) as bridge:
        await bridge.kick_off()
        await bridge.stream_until("bot-stopped-speaking", 8)
        sentence = caller("My room is cold.")
        await bridge.stream(len(sentence) / 32000, sentence)
        await bridge.stream_until("bot-stopped-speaking", 10, count=2)
        context, summary = await bridge.pull_context(), await bridge.pull_summary(include_db=True)
    assert said(bridge).split() == ["Good", "morning.", "It", "is", "on", "again."]
    assert heard(bridge) == ["My room is cold."]
    applied = [
        data["action"]["name"] for _, data in bridge.of("server-message") if data.get("type") == "action-applied"
    ]
    assert applied == ["restore_supply"]
    assert summary["db"]["accounts"]["H7"]["supply_on"] is True
    roles = [message["role"] for message in context]
    # Where a service finds the turns, the caller's words are written down when its transcript comes: somewhere after
    # the greeting, on a busy machine even after the tool's result.
    assert roles[:3] == ["system", "user", "assistant"] and roles.count("user") == 2
    own = roles[:3] + [role for role in roles[3:] if role != "user"]
    assert own == ["system", "user", "assistant", "assistant", "tool", "assistant"]
    assert bridge.of("user-started-speaking") and bridge.of("user-stopped-speaking")
    tokens = [item for _, data in bridge.of("metrics") for item in data.get("tokens", [])]
    assert (
        sum(item["completion_tokens"] for item in tokens) == 7  # six words and a call
    )
    check_protocol(double, turns)


def check_protocol(double: RealtimeDouble, turns: str) -> None:
    """What the server was told: prompt, tools, turn taking, the result of the call."""
    conversation = double.conversations[-1]
    assert conversation.session["instructions"] == "You serve."
    assert [tool["name"] for tool in conversation.session["tools"]] == TOOLS
    manual = turns == "silence"
    assert (conversation.session["audio"]["input"].get("turn_detection", "server") is None) is manual
    assert bool(conversation.got("input_audio_buffer.commit")) is manual
    outputs = [item for item in conversation.items if item["type"] == "function_call_output"]
    assert json.loads(outputs[0]["output"])["changed"] is True


async def test_the_other_side_may_speak_first(double, silero, caller):
    async with in_call(double, silero, turns="service") as bridge:
        sentence = caller("My room is cold.")
        await bridge.stream(len(sentence) / 32000, sentence)
        await bridge.stream_until("bot-stopped-speaking", 10)
    assert said(bridge).split() == ["It", "is", "on", "again."]


async def test_a_reply_that_is_talked_over_stops(double, silero, caller):
    async with in_call(double, silero) as bridge:
        story, stop = caller("Tell me a story."), caller("Good morning to you too.")
        await bridge.stream(len(story) / 32000, story)
        await bridge.stream_until("bot-started-speaking", 8)
        await bridge.stream(0.6)
        await bridge.stream(len(stop) / 32000, stop)
        await bridge.stream_until("bot-stopped-speaking", 8, count=2)
    assert bridge.interruptions >= 1
    assert 2 <= len(said(bridge).split("Good morning")[0].split()) < len(STORY.split())
    assert double.conversations[-1].got("conversation.item.truncate")


async def test_each_scenario_has_a_conversation_of_its_own(double, silero):
    async with in_call(double, silero) as bridge:
        await bridge.kick_off()
        await bridge.stream_until("bot-stopped-speaking", 8)
        first = double.conversations[-1]
        start = {"prompt": "You sell.", "add_suffix": False, "tools": "{}"}
        message_id = await bridge.ask("update_system_prompt", start)
        assert (await bridge.first("server-response", message_id=message_id))["data"]["d"] is True
        await bridge.kick_off()
        await bridge.stream_until("bot-stopped-speaking", 8, count=2)
        context = await bridge.pull_context()
    second = double.conversations[-1]
    assert second is not first
    assert second.session["instructions"] == "You sell."
    assert [item["role"] for item in second.items] == ["user", "assistant"]
    assert [message["role"] for message in context] == ["system", "user", "assistant"]


async def test_a_service_of_pipecat_fits_by_its_class(double, silero):
    async with double.serving() as url:
        model = {"model": "gpt-realtime", "session_properties": {"audio": {"input": {"transcription": {}}}}}
        settings = {"api_key": KEY, "base_url": url, "settings": model}
        llm = {"service": "pipecat.services.openai.realtime.llm:OpenAIRealtimeLLMService", "settings": settings}
        sections = {"pipeline": "s2s", "llm": llm, "turn_taking": {"type": "service"}}
        config = BotConfig.model_validate({"server": {"port": 0, "transport": "websocket"}, **sections})
        async with running(config, silero) as bot:
            for number, prompt in enumerate(("You serve.", "You sell.")):
                bridge = ForeignBridge(bot.url)
                await bridge.prepare(prompt, TOOLS, "heating", "heating/db", [])
                async with bridge.connected():
                    await bridge.handshake()
                    await bridge.kick_off()
                    await bridge.stream_until("bot-stopped-speaking", 8)
                assert said(bridge).split() == ["Good", "morning."], number
                assert double.conversations[-1].session["instructions"] == prompt
                assert [tool["name"] for tool in double.conversations[-1].session["tools"]] == TOOLS


async def test_preflight_names_a_wrong_key_without_showing_it(double, silero):
    async with double.serving() as url:
        for key, is_fine in ((KEY, True), ("sk-wrong-secret", False)):
            async with running(s2s_config(url, key=key), silero) as bot:
                bridge = ForeignBridge(bot.url)
                async with bridge.connected():
                    await bridge.handshake()
                    await bridge.ask("preflight")
                    answer = (await bridge.first("server-response"))["data"]["d"]
            assert answer["success"] is is_fine, answer
            assert "sk-wrong-secret" not in str(answer)
    assert "401" in answer["errors"][0]


def test_settings_that_are_no_session_properties_are_named(silero):
    from duologue.bots.s2s import build_openai_realtime
    from duologue.errors import ConfigError

    config = s2s_config("ws://unused")
    llm = config.llm.model_copy(update={"settings": {"audio": {"output": {"speed": "fast"}}}})
    with pytest.raises(ConfigError, match=r"llm\.settings.*audio\.output\.speed"):
        build_openai_realtime(config.model_copy(update={"llm": llm}), function_call_timeout_s=10)
