"""Attempts against turn agents, from the sound of the caller to the verdict."""

import io
import json
from contextlib import asynccontextmanager

import numpy as np
import pytest
import soundfile

from duologue.audio.decoding import decode_audio
from duologue.clock import SystemClock
from duologue.config import TtsConfig
from duologue.errors import ScenarioError, TranscriptionError
from duologue.records.caller import FrozenUtterance, LiveCaller, RecordedCaller
from duologue.records.conditions import LineConditions
from duologue.records.event import (
    CallEnded,
    ContextPulled,
    Fault,
    HeardText,
    SpokenText,
    ToolCalled,
    UtteranceAnswered,
    UtterancePlayed,
)
from duologue.records.outcome import Cause, OutcomeKind, StopReason
from duologue.records.result import ScenarioResult
from duologue.runner.attempt import Attempt, AttemptRunner
from duologue.runner.observer import SilentObserver
from duologue.runner.settings import RunSettings
from duologue.runner.turn_calls import TurnCalls
from duologue.speech.spoken import SpokenUtterances
from duologue.speech.whisper import WhisperTranscriber
from duologue.testing.agent_doubles import AgentAnswer, AgentDouble
from duologue.trace.reader import load_trace
from duologue.turn_agents.build import ADAPTERS, build_turn_agent, opened_turn_agent
from duologue.turn_agents.conversation import TurnSetup
from duologue.turn_agents.turn import MessageTurn

BASE_TYPED = '''
from duologue.turn_agents.turn import MessageTurn


class Agent:
    """Knows the base turn only."""

    async def __call__(self, history: list[MessageTurn], tool_manifest: list[dict]) -> MessageTurn:
        spoken = [turn for turn in history if turn.role == "user"]
        copied = [MessageTurn(turn.role, turn.content, tool_calls=turn.tool_calls) for turn in history]
        if "alarm" in spoken[-1].content and copied[-1].role == "user":
            call = {"id": "c1", "function": {"name": "set_alarm", "arguments": '{"time": "morning"}'}}
            return MessageTurn("assistant", "", tool_calls=[call])
        return MessageTurn(role="assistant", content="Done.")
'''


class Reads:
    """Stands for a recognizer: the sound file is its text."""

    name = "reads"

    async def transcribe(self, audio, language):
        if audio == b"noise":
            raise TranscriptionError("reads: nothing but noise")
        return audio.decode()

    async def close(self):
        pass


def say(utterance):
    return utterance.text.encode()


async def attempt_at(folder, scenario, agent, *, transcriber=None, speak=say, **options):
    """Run one attempt and return its result and its trace."""
    setup = TurnSetup(agent, "double", transcriber or Reads(), speak=speak, **options)
    clock = SystemClock()
    runner = AttemptRunner(RunSettings(), clock, SilentObserver(), TurnCalls(setup, clock))
    results: list[ScenarioResult] = []
    await runner.run(Attempt(scenario, folder / scenario.task_id, run_id="run"), results.append)
    return results[0], load_trace(folder / scenario.task_id / "trace.jsonl")


def expected_calls(errands):
    """Return a script that makes the expected call of each user turn, and refuses where there is none."""

    def answer(asked):
        calls = errands[asked.task_id].grading["calls"]
        if asked.is_after_tools:
            return AgentAnswer("Done.")
        due = calls[asked.user_turns - 1 : asked.user_turns]
        names = {name.replace(".", "_"): name for name in asked.tools} | {name: name for name in asked.tools}
        return AgentAnswer(
            "" if due else "I cannot do that.", tuple((names[name.replace(".", "_")], a) for name, a in due)
        )

    return answer


@asynccontextmanager
async def opened(adapter, double):
    async with opened_turn_agent(adapter, url=double.url, env={}, clock=SystemClock()) as agent:
        yield agent


async def said(history, tool_manifest):
    return MessageTurn("assistant", "Good morning.")


@pytest.mark.socket
@pytest.mark.parametrize("adapter", ADAPTERS)
async def test_an_agent_that_does_what_is_expected_passes_through_every_adapter(adapter, errands, tmp_path):
    async with AgentDouble(expected_calls(errands)) as double, opened(adapter, double) as agent:
        for scenario in errands.values():
            result, _ = await attempt_at(tmp_path, scenario, agent)
            assert result.outcome.kind is OutcomeKind.PASSED, result.outcome.detail
    assert {asked.task_id for asked in double.asked} == set(errands)
    assert len({asked.session_id for asked in double.asked}) == len(errands)


@pytest.mark.socket
@pytest.mark.speech
async def test_spoken_errands_pass_through_recognition(errands, tmp_path, spoken, whisper):
    async with AgentDouble(expected_calls(errands)) as double, opened("hermes", double) as agent:
        for scenario in errands.values():
            result, trace = await attempt_at(tmp_path, scenario, agent, transcriber=whisper, speak=spoken)
            heard = [event.text.casefold() for event in trace.of(HeardText)]
            assert heard == [utterance.transcript.casefold() for utterance in scenario.caller.utterances]
            assert result.outcome.kind is OutcomeKind.PASSED and result.media_ms > 1000


@pytest.fixture(scope="module")
def whisper():
    return WhisperTranscriber()


@pytest.fixture(scope="module")
def spoken(tmp_path_factory):
    return SpokenUtterances(TtsConfig(), tmp_path_factory.mktemp("spoken"))


async def test_a_class_typed_on_the_base_turn_works_unchanged(errands, tmp_path, monkeypatch):
    (tmp_path / "my_adapter.py").write_text(BASE_TYPED)
    monkeypatch.syspath_prepend(tmp_path)
    agent = await build_turn_agent("my_adapter:Agent", env={}, clock=SystemClock())
    result, _ = await attempt_at(tmp_path, errands["alarm"], agent)
    assert result.outcome.kind is OutcomeKind.PASSED


async def test_an_agent_that_does_nothing_fails_and_is_evaluable(errands, tmp_path):
    result, _ = await attempt_at(tmp_path, errands["alarm"], said)
    assert (result.outcome.kind, result.stop_reason) == (OutcomeKind.FAILED, StopReason.CALLER_DONE)


async def test_the_trace_tells_what_was_said_heard_and_answered(errands, tmp_path):
    _, trace = await attempt_at(tmp_path, errands["two_mails"], said)
    kinds = (UtterancePlayed, SpokenText, HeardText, UtteranceAnswered)
    told = [type(event).__name__ for event in trace.events if isinstance(event, kinds)]
    turn = ["UtterancePlayed", "SpokenText", "HeardText", "SpokenText", "UtteranceAnswered"]
    assert told == turn * 2
    assert [event.index for event in trace.of(UtteranceAnswered)] == [0, 1]
    assert [message["role"] for message in trace.last(ContextPulled).messages] == ["user", "assistant"] * 2


async def test_the_record_hands_its_own_manifest_to_the_agent(errands, tmp_path):
    seen = []

    async def looks(history, tool_manifest):
        seen.append(tool_manifest)
        return MessageTurn("assistant", "Hm.")

    await attempt_at(tmp_path, errands["alarm"], looks)
    made, own = seen[0]
    assert made["function"]["name"] == "set_alarm"
    assert own == {"name": "mail.send", "parameters": {"type": "object", "properties": {"to": {"type": "any"}}}}


async def test_at_the_cap_the_reply_is_missing_and_the_next_turn_goes_on(errands, tmp_path):
    async def restless(history, tool_manifest):
        return MessageTurn("assistant", "More.", tool_calls=[{"name": "set_alarm"}])

    _, trace = await attempt_at(tmp_path, errands["two_mails"], restless)
    assert [(event.text, event.tool_turns) for event in trace.of(UtteranceAnswered)] == [(None, 8), (None, 8)]
    assert len(trace.of(ToolCalled)) == 16


@pytest.mark.parametrize(
    ("utterance", "error", "message"),
    [
        ({"transcript": "Hello."}, "TranscriptionError", "the utterance has no audio"),
        ({"audio": "gone.wav"}, "FixtureError", "no file 'gone.wav'"),
        ({"text": "noise"}, "TranscriptionError", "nothing but noise"),
        ({"text": "  "}, "TranscriptionError", "reads returned a blank transcript"),
    ],
)
async def test_an_utterance_that_is_not_understood_ends_the_attempt(errands, tmp_path, utterance, error, message):
    scenario = errands["alarm"].model_copy(
        update={"caller": RecordedCaller(utterances=(FrozenUtterance(**utterance),))}
    )
    result, trace = await attempt_at(tmp_path, scenario, said)
    fault = trace.last(Fault)
    assert (fault.error, fault.cause, result.stop_reason) == (error, Cause.HARNESS, StopReason.FAULT)
    assert message in fault.message and not trace.of(HeardText)
    assert result.outcome.kind is OutcomeKind.NOT_EVALUABLE


async def test_what_was_called_before_an_agent_broke_is_kept(errands, tmp_path):
    async def breaks(history, tool_manifest):
        if history[-1].role == "tool":
            raise KeyError("weather")
        return MessageTurn("assistant", "", tool_calls=[{"name": "set_alarm", "arguments": {"time": "morning"}}])

    result, trace = await attempt_at(tmp_path, errands["alarm"], breaks)
    assert (trace.last(Fault).error, trace.last(Fault).cause) == ("KeyError", Cause.TRANSPORT)
    assert [call.name for call in trace.of(ToolCalled)] == ["set_alarm"]
    assert trace.last(CallEnded).stop_reason is StopReason.FAULT
    assert result.outcome.kind is OutcomeKind.NOT_EVALUABLE and "weather" in result.outcome.detail


async def test_a_caller_that_is_a_bot_cannot_be_put_to_a_turn_agent(errands, tmp_path):
    scenario = errands["alarm"].model_copy(update={"caller": LiveCaller()})
    result, trace = await attempt_at(tmp_path, scenario, said)
    assert trace.last(Fault).error == ScenarioError.__name__
    assert "its caller is a bot" in result.outcome.detail


async def test_the_files_of_an_attempt_are_those_of_a_call(errands, tmp_path):
    await attempt_at(tmp_path, errands["alarm"], said)
    folder = tmp_path / "alarm"
    assert "agent: Good morning." in (folder / "conversation_log.txt").read_text()
    context = json.loads((folder / "bot_logs_agent" / "llm_context.json").read_text())
    assert context[0] == {"role": "user", "content": "Please set an alarm for tomorrow morning."}


async def test_the_prompt_goes_along_only_when_it_is_asked_for(errands, tmp_path):
    _, plain = await attempt_at(tmp_path / "plain", errands["alarm"], said)
    _, prompted = await attempt_at(tmp_path / "prompted", errands["alarm"], said, sends_prompt=True)
    assert plain.last(ContextPulled).messages[0]["role"] == "user"
    assert prompted.last(ContextPulled).messages[0] == {"role": "system", "content": "Help the caller."}


class Listens:
    """Stands for a recognizer that keeps what it is given."""

    name = "listens"

    def __init__(self):
        self.given = []

    async def transcribe(self, audio, language):
        self.given.append(audio)
        return "an alarm"

    async def close(self):
        pass


class Answers:
    """An agent that keeps the sound of the last turn."""

    def __init__(self):
        self.given = []

    async def __call__(self, history, tool_manifest):
        self.given.append(history[-1].audio_input)
        return MessageTurn("assistant", "Done.")


def tone_file(seconds):
    return wav_of(np.rint(8000 * np.sin(np.arange(round(seconds * 16_000)) / 5)).astype("<i2"))


def wav_of(samples):
    with io.BytesIO() as file:
        soundfile.write(file, samples, 16_000, format="WAV", subtype="PCM_16")
        return file.getvalue()


async def test_clip_of_a_turn_agent_passes_the_line(tmp_path, errands):
    line = LineConditions.model_validate(
        {"name": "street", "to_agent": {"noise": {"level_dbfs": -30}, "gain_db": -6, "delay_ms": 100}}
    )
    heard, sounds = {}, {}
    for folder, scenario in {
        "clean": errands["two_mails"],
        "one": errands["two_mails"].model_copy(update={"line": line}),
        "two": errands["two_mails"].model_copy(update={"line": line}),
    }.items():
        listens, agent = Listens(), Answers()
        said: dict[str | None, bytes] = {}
        speak = lambda utterance, said=said: said.setdefault(utterance.text, tone_file(0.5))  # noqa: E731
        result, trace = await attempt_at(tmp_path / folder, scenario, agent, transcriber=listens, speak=speak)
        assert not trace.of(Fault)
        assert listens.given == agent.given
        heard[folder], sounds[folder] = listens.given, trace.of(UtterancePlayed)
        assert result.line.name == ("clean" if folder == "clean" else "street")
    assert heard["clean"] == [tone_file(0.5)] * 2
    assert heard["one"] == heard["two"]
    first, second = (decode_audio(audio, 16_000) for audio in heard["one"])
    assert len(first) == len(second) == 8000
    assert not np.array_equal(first, second)
    rest = decode_audio(tone_file(0.5), 16_000) * 10 ** (-6 / 20)
    noise = first - rest
    assert 20 * np.log10(np.sqrt(np.mean(noise**2))) == pytest.approx(-30, abs=1)
    assert [event.duration_ms for event in sounds["one"]] == [500, 500]
