import ast
import hashlib
import json
from dataclasses import replace

import numpy as np
import pytest

from duologue.brains.reply import BrainReply
from duologue.config import TtsConfig
from duologue.speech.hibari import HibariVoice
from tests.bots.running_bot import last
from tests.bots.wire_client import SILENCE, noise, tone

pytestmark = [pytest.mark.socket, pytest.mark.speech]

LONG = "I am going to tell you a rather long story about a small boat on a wide and very quiet sea."


def repeat(messages, tools):
    """Say what was heard."""
    heard = [message["content"] for message in messages if message["role"] == "user"]
    answered = [message for message in messages if message["role"] == "assistant"]
    return BrainReply(f"You said {heard[-1]}" if len(heard) > len(answered) else "")


def tell_story(messages, tools):
    return BrainReply(LONG if last(messages, "user") == "Hello" else "I heard you.")


async def kick_off(client):
    await client.send("send-text", {"content": "Hello", "options": {"run_immediately": True, "audio_response": True}})


async def messages_of(client):
    return json.loads(ast.literal_eval((await client.ask("get_context_history"))["context"]))


def ticks_of(client, kind):
    return [tick for tick, message in client.messages if message["type"] == kind]


async def test_every_grant_gives_back_one_frame_and_silence_is_digital(start_bot):
    async with start_bot().client() as client:
        await client.ready()
        frames = [await client.tick() for _ in range(50)]
    assert frames == [SILENCE] * 50


async def test_a_sentence_is_heard_answered_and_reported_word_by_word(start_bot, caller):
    async with start_bot(repeat).scenario() as client:
        await client.play(caller("My phone has no signal."))
        await client.until("bot-stopped-speaking")
        context = await messages_of(client)
    assert client.heard() == ["My phone has no signal."]
    assert client.spoken() == "You said My phone has no signal. "
    assert [data["text"] for data in client.of("bot-tts-text")][:3] == ["You ", "said ", "My "]
    words = ticks_of(client, "bot-tts-text")
    (started,), (stopped,) = ticks_of(client, "bot-started-speaking"), ticks_of(client, "bot-stopped-speaking")
    assert words == sorted(set(words))
    assert started < words[0] <= words[-1] <= stopped
    assert [message["content"] for message in context[1:]] == [
        "My phone has no signal.",
        "You said My phone has no signal.",
    ]


async def test_speaking_events_frame_the_audio(start_bot):
    async with start_bot(tell_story).scenario() as client:
        await kick_off(client)
        await client.until("bot-stopped-speaking")
    loud = np.abs(np.frombuffer(bytes(client.audio), "<i2").reshape(-1, 320)).max(axis=1) > 0
    speech = np.flatnonzero(loud) + 1
    assert ticks_of(client, "bot-started-speaking") == [speech[0]]
    assert 0 <= ticks_of(client, "bot-stopped-speaking")[0] - speech[-1] <= 7


async def test_a_barge_in_stops_the_bot_and_keeps_only_the_played_words(start_bot, caller):
    async with start_bot(tell_story).scenario() as client:
        await kick_off(client)
        await client.wait(1.5)
        await client.play(caller("Excuse me, please stop."))
        await client.until("bot-started-speaking")
        await client.until("bot-stopped-speaking")
        context = await messages_of(client)
    first, second = [message["content"] for message in context if message["role"] == "assistant"]
    assert LONG.startswith(first)
    assert 3 <= len(first.split()) <= 10
    assert client.spoken() == f"{first} {second} "
    assert second == "I heard you."
    assert ticks_of(client, "bot-stopped-speaking")[0] - 75 < 30


async def test_the_reported_words_are_never_ahead_of_the_audio(start_bot, models):
    async with start_bot(tell_story).scenario() as client:
        await kick_off(client)
        await client.until("bot-stopped-speaking")
    played = 0
    started = ticks_of(client, "bot-started-speaking")[0]
    for tick, word in zip(ticks_of(client, "bot-tts-text"), models.voice.speak(LONG), strict=True):
        played += len(word.audio) // len(SILENCE)
        assert tick == started + played - 1


@pytest.mark.parametrize("sound", [noise(5), noise(5, level=0.1), tone(30), tone(30, hz=1000, level=0.8)])
async def test_noise_and_tones_make_no_turn(start_bot, sound):
    async with start_bot(repeat).scenario() as client:
        await client.play(sound)
        await client.wait(1.5)
    assert not {"user-started-speaking", "user-transcription", "bot-started-speaking"} & set(client.kinds())


async def test_a_short_yes_is_heard_ten_times_in_a_row(start_bot, caller):
    samples = np.frombuffer(caller("Yes."), "<i2")
    loud = np.flatnonzero(np.abs(samples) > 300)
    yes = samples[loud[0] : loud[0] + 4000]
    async with start_bot().scenario() as client:
        for offset in range(10):
            await client.play(bytes(64 * offset) + yes.tobytes())
            await client.wait(1.2)
    assert [text.strip(" .!") for text in client.heard()] == ["Yes"] * 10
    assert client.kinds().count("user-stopped-speaking") == 10


@pytest.mark.parametrize("quiet_s", [0.8, 1.5, 2.5])
async def test_a_turn_ends_after_the_configured_silence(start_bot, caller, quiet_s):
    bot = start_bot(repeat, turn_taking={"user_speech_timeout_s": quiet_s}, vad={"stop_secs": 0.2})
    async with bot.scenario() as client:
        await client.play(caller("Hello there."))
        ended = client.ticks
        await client.until("bot-started-speaking")
    waited_s = (client.ticks - ended) * 0.02
    assert quiet_s < waited_s < quiet_s + 0.4


async def test_a_turn_without_words_ends_too(start_bot, caller, monkeypatch, models):
    monkeypatch.setattr(models.whisper, "transcribe", lambda *_: "")
    async with start_bot(repeat).scenario() as client:
        await client.play(caller("Hello there."))
        await client.wait(2)
    assert client.kinds().count("user-stopped-speaking") == client.kinds().count("user-started-speaking") == 1
    assert client.heard() == []


async def test_equal_sessions_send_equal_bytes(start_bot, caller):
    bot = start_bot(repeat)

    async def session():
        async with bot.scenario(tools=("check_thermostat",)) as client:
            await kick_off(client)
            await client.wait(1)
            await client.play(caller("Wait, my phone is not working."))
            await client.wait(4)
            return hashlib.sha256(b"".join(client.raw)).hexdigest(), len(client.raw)

    assert await session() == await session()


async def test_two_sessions_at_once_do_not_change_each_other(start_bot, caller):
    bot = start_bot(repeat)

    async def alone(text):
        async with bot.scenario() as client:
            await client.play(caller(text))
            await client.wait(3)
            return client.raw

    expected = [await alone("Hello there."), await alone("Good morning to you.")]
    async with bot.scenario() as first, bot.scenario() as second:
        for client, text in ((first, "Hello there."), (second, "Good morning to you.")):
            client.todo = caller(text) + bytes(150 * 640)
        for start in range(0, max(len(first.todo), len(second.todo)), 640):
            for client in (first, second):
                if start < len(client.todo):
                    await client.tick(client.todo[start : start + 640].ljust(640, b"\0"))
    assert [first.raw, second.raw] == expected


@pytest.mark.parametrize("rate_hz", [8000, 24000])
async def test_the_output_rate_is_configurable(start_bot, models, rate_hz):
    voiced = replace(models, voice=HibariVoice(TtsConfig(), rate_hz))
    bot = start_bot(tell_story, voiced, transport={"audio_out_sample_rate": rate_hz})
    async with bot.scenario() as client:
        await kick_off(client)
        await client.until("bot-stopped-speaking")
    assert len(client.audio) == client.ticks * rate_hz // 50 * 2
    assert client.spoken().split() == LONG.split()
