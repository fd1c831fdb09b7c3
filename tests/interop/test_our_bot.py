"""A bot that bridges of the field can drive: the checklist, against one call that such a bridge has with it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from duologue.brains.brain import BrainCall
from duologue.brains.reply import BrainReply
from duologue.config import TtsConfig
from duologue.speech.hibari import HibariVoice
from tests.interop.foreign_bot import db_hash
from tests.interop.foreign_bridge import ForeignBridge

pytestmark = [pytest.mark.socket, pytest.mark.speech]

TOOLS = ["find_account", "restore_supply", "EndConversationTool"]
SUPPLY_CUT = {"side": "agent", "func_name": "cut_supply", "arguments": {"account_id": "H7"}}
ACCOUNT = {"name": "Ada Brown", "phone": "555-010-7000", "supply_on": True}


def serve_caller(messages: list[dict], tools: list[str]) -> BrainReply:
    """Greet, switch the supply on, say so, hang up."""
    if messages[-1]["role"] == "user" and messages[-1]["content"] == "Hello":
        return BrainReply("Good morning.")
    done = sum(message["role"] == "tool" for message in messages)
    if done == 0:
        return BrainReply(calls=(BrainCall("restore_supply", {"account_id": "H7"}),))
    if done == 1:
        return BrainReply("It is on. Goodbye.", (BrainCall("EndConversationTool", {}),))
    return BrainReply()


@dataclass
class Call:
    """One call of the foreign bridge: what it prepared, what it saw, what it pulled."""

    bridge: ForeignBridge
    initialized: dict
    ready: dict
    heard_before_kick_off: int
    delta: dict
    context: list
    summary: dict


async def hold_call(url: str, sentence: bytes) -> Call:
    bridge = ForeignBridge(url)
    initialized = await bridge.prepare("You serve.", TOOLS, "heating", "heating/db", [SUPPLY_CUT])
    bridge.messages.clear()
    await asyncio.sleep(0.3)
    async with bridge.connected():
        ready = await bridge.handshake()
        await bridge.stream(1.0)
        heard = len(bridge.audio)
        await bridge.kick_off()
        await bridge.stream_until("bot-stopped-speaking", 6)
        delta_id = await bridge.ask("apply_sync_delta", {"domain": "heating", "delta": {}})
        await bridge.stream(len(sentence) / 32000, sentence)
        await bridge.stream_until("bot-stopped-speaking", 10, count=2)
        delta = await bridge.first("server-response", message_id=delta_id)
        context, summary = await bridge.pull_context(), await bridge.pull_summary(include_db=True)
    return Call(bridge, initialized, ready, heard, delta, context, summary)


@pytest.fixture(scope="module")
def call(start_websocket_bot: Callable) -> Call:
    voice = HibariVoice(TtsConfig(pitch=0.8), 16000)
    sentence = b"".join(word.audio for word in voice.speak("My room is cold."))
    return asyncio.run(hold_call(start_websocket_bot(serve_caller).url, sentence))


def test_bot_ready_echoes_the_version_and_names_what_the_bot_offers(call: Call) -> None:
    data = call.ready["data"]
    assert data["version"] == "1.1.0"
    offers = data["about"]["capabilities"]
    assert (offers["transport"], offers["audio_out_hz"]) == ("websocket", 24000)


def test_initialization_on_the_first_connection_is_there_on_the_second(call: Call) -> None:
    assert call.initialized["success"] is True and call.initialized["errors"] == []
    assert call.summary["db"] == {"accounts": {"H7": ACCOUNT}}
    assert call.context[0] == {"role": "system", "content": "You serve."}


def test_the_bot_does_not_speak_before_it_is_spoken_to(call: Call) -> None:
    assert call.heard_before_kick_off == 0


def test_sound_is_24_khz_mono_in_real_time_and_only_while_the_bot_speaks(call: Call) -> None:
    assert {(rate, channels) for _, rate, channels, _ in call.bridge.audio} == {(24000, 1)}
    spans = zip(call.bridge.of("bot-started-speaking"), call.bridge.of("bot-stopped-speaking"), strict=True)
    for (began, _), (ended, _) in spans:
        inside = [item for item in call.bridge.audio if began - 0.5 <= item[0] <= ended + 0.5]
        seconds = sum(len(pcm) for *_, pcm in inside) / 48000
        assert inside[-1][0] - inside[0][0] == pytest.approx(seconds, abs=0.6)
    assert all(any(began - 0.5 <= now <= ended + 0.5 for began, ended in _spans(call)) for now, *_ in call.bridge.audio)


def _spans(call: Call) -> list[tuple[float, float]]:
    began = [now for now, _ in call.bridge.of("bot-started-speaking")]
    return list(zip(began, [now for now, _ in call.bridge.of("bot-stopped-speaking")], strict=True))


def test_words_come_with_their_spaces(call: Call) -> None:
    texts = [data["text"] for _, data in call.bridge.of("bot-tts-text")]
    assert "".join(texts) == "Good morning. It is on. Goodbye. "


def test_the_caller_was_heard(call: Call) -> None:
    assert [data["text"] for _, data in call.bridge.of("user-transcription") if data["final"]] == ["My room is cold."]


def test_a_write_is_pushed_and_the_exit_follows_the_last_result(call: Call) -> None:
    pushes = [data for _, data in call.bridge.of("server-message")]
    applied = [data for data in pushes if data.get("type") == "action-applied"]
    assert [(data["action"]["name"], data["tool_domain"]) for data in applied] == [
        ("restore_supply", "heating"),
        ("EndConversationTool", "heating"),
    ]
    kinds = [message["type"] for _, message in call.bridge.messages]
    exits = [
        index
        for index, (_, message) in enumerate(call.bridge.messages)
        if message["type"] == "server-message" and message["data"].get("text") == "<exit>The task is finished.</exit>"
    ]
    assert len(exits) == 1
    results = [index for index, kind in enumerate(kinds) if kind == "llm-function-call-stopped"]
    assert results[-1] < exits[0]


def test_a_write_does_not_wait_for_a_client_that_releases_nothing(call: Call) -> None:
    began = next(now for now, data in call.bridge.of("server-message") if data.get("type") == "action-applied")
    ended = next(now for now, _ in call.bridge.of("llm-function-call-stopped"))
    assert ended - began < 1.0


def test_tokens_are_reported_for_each_call_of_the_model(call: Call) -> None:
    tokens = [entry for _, data in call.bridge.of("metrics") for entry in data.get("tokens", [])]
    assert len(tokens) >= 3
    assert all({"prompt_tokens", "completion_tokens"} <= set(entry) for entry in tokens)


def test_a_delta_is_answered_at_once(call: Call) -> None:
    assert call.delta["data"]["t"] == "apply_sync_delta"
    assert call.delta["data"]["d"]["success"] is True


def test_the_summary_has_the_hash_of_the_wire_and_the_actions(call: Call) -> None:
    assert call.summary["db_hash"] == db_hash(call.summary["db"])
    assert [action["name"] for action in call.summary["actions"]] == ["restore_supply", "EndConversationTool"]


# What can go wrong on the wire.


@pytest.fixture(scope="module")
def quiet_bot(start_websocket_bot: Callable):
    return start_websocket_bot()


async def test_a_second_client_is_turned_away_and_the_first_stays(quiet_bot) -> None:
    first, second = ForeignBridge(quiet_bot.url), ForeignBridge(quiet_bot.url)
    async with first.connected():
        await first.handshake()
        async with second.connected():
            assert await second.close_code() == 1013
        await first.ask("reset")
        assert (await first.first("server-response"))["data"] == {"t": "reset", "d": True}


async def test_requests_sent_back_to_back_are_answered_in_their_order(quiet_bot) -> None:
    bridge = ForeignBridge(quiet_bot.url)
    async with bridge.connected():
        await bridge.handshake()
        tools = json.dumps({name: {} for name in TOOLS})
        asked = [
            await bridge.ask("reset"),
            await bridge.ask("update_system_prompt", {"prompt": "Serve.", "tools": tools, "tool_domain": "heating"}),
            await bridge.ask("make_coffee"),
            await bridge.ask("get_context_history"),
            await bridge.ask("get_scenario_summary"),
            await bridge.ask("reset"),
        ]
        await bridge.first("server-response", message_id=asked[-1])
    answers = [m for _, m in bridge.messages if m["type"] in ("server-response", "error-response")]
    assert [answer["id"] for answer in answers] == asked
    assert answers[2]["type"] == "error-response"
    assert answers[2]["data"]["error"] == "unknown message type: make_coffee"


async def test_a_failed_initialization_says_why(quiet_bot) -> None:
    action = {"func_name": "cut_supply", "arguments": {"account_id": "H9"}}
    result = await ForeignBridge(quiet_bot.url).prepare("Serve.", TOOLS, "heating", "heating/db", [action])
    assert result["success"] is False
    assert any("H9" in error for error in result["errors"])


async def test_a_client_does_not_end_the_bot(quiet_bot) -> None:
    bridge = ForeignBridge(quiet_bot.url)
    async with bridge.connected():
        await bridge.send("disconnect-bot")
        await bridge.handshake()
    async with connect(quiet_bot.url) as socket:
        await socket.send(b"\xff\xff not a frame")
        await asyncio.wait_for(socket.wait_closed(), 5)
    async with bridge.connected():
        await bridge.handshake()


async def test_a_token_is_asked_for_over_this_transport_too(start_websocket_bot: Callable) -> None:
    bot = start_websocket_bot(server={"auth_token": "secret"})
    with pytest.raises(InvalidStatus):
        async with connect(bot.url):
            pass
    async with ForeignBridge(f"{bot.url}?token=secret").connected() as bridge:
        await bridge.handshake()


def test_the_bot_runs_on_an_ordinary_loop(quiet_bot) -> None:
    assert type(quiet_bot.loop).__module__ == "asyncio.unix_events"
