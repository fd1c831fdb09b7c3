"""Recorded callers over real speech: heard through VAD and STT, answered with tools and words, graded."""

import pytest

from duologue.audio.edges import speech_segments
from duologue.audio.recording import read_recording
from duologue.brains.reply import BrainCall, BrainReply
from duologue.errors import TraceError
from duologue.records.action import Side
from duologue.records.caller import FrozenUtterance, RecordedCaller, UtteranceStart
from duologue.records.conditions import LineConditions
from duologue.records.event import HeardText, ToolCalled, ToolReturned, UtterancePlayed
from duologue.records.outcome import Cause, OutcomeKind, StopReason
from duologue.runner.rescoring import rescore_folder

pytestmark = [pytest.mark.socket, pytest.mark.speech]


def users(messages):
    return [message["content"] for message in messages if message["role"] == "user"]


def does_errands(messages, tools):
    """An agent that makes one call for each message it hears, and says so."""
    last = messages[-1]
    if last["role"] != "user":
        return BrainReply("Done." if last["role"] == "tool" else "")
    heard = last["content"].lower()
    if "alarm" in heard:
        return BrainReply(calls=(BrainCall("set_alarm", {"time": "morning"}),))
    for name in ("Robert", "Alice"):
        if name.lower() in heard:
            return BrainReply(calls=(BrainCall("mail.send", {"to": name}),))
    return BrainReply("I cannot do that.")


@pytest.mark.parametrize("task", ["alarm", "two_mails", "break_in"])
async def test_agent_that_hears_and_acts_passes(task, start_bot, errands, run):
    done = await run(start_bot(decide=does_errands), errands[task])
    assert done.result.outcome.kind is OutcomeKind.PASSED, done.result.outcome.detail
    assert done.result.stop_reason is StopReason.CALLER_DONE


async def test_silent_agent_passes_nothing_that_asks_for_something(start_bot, errands, run):
    done = await run(start_bot("silent"), errands["two_mails"])
    assert done.result.outcome.kind is OutcomeKind.FAILED
    assert done.result.media_ms < 30_000
    assert len(done.trace.of(HeardText)) == 2


async def test_turns_and_latency_come_from_the_recording_as_in_any_call(start_bot, errands, run):
    done = await run(start_bot(decide=does_errands), errands["two_mails"])
    turns = done.result.conversation.turns
    assert [turn.side for turn in turns] == [Side.USER, Side.AGENT, Side.USER, Side.AGENT]
    assert [turn.text for turn in turns][0::2] == [
        utterance.transcript for utterance in errands["two_mails"].caller.utterances
    ]
    assert done.result.conversation.latency.measured
    assert all(500 < response.latency_ms < 3000 for response in done.result.conversation.latency.responses)
    assert len(done.result.conversation.latency.responses) == 2


async def test_two_runs_leave_equal_bytes(start_bot, errands, run):
    bot = start_bot(decide=does_errands)
    runs = [await run(bot, errands["two_mails"], name) for name in ("one", "two")]
    wavs = [(done.folder / "conversation_log.wav").read_bytes() for done in runs]
    events = [[event for event in done.trace.events if event.event != "call_ended"] for done in runs]
    assert wavs[0] == wavs[1]
    assert events[0] == events[1]


async def test_barge_in_cuts_the_agent_and_is_measured(start_bot, errands, run):
    def talks(messages, tools):
        if len(users(messages)) > 1:
            return BrainReply("All right.")
        return BrainReply("I will now tell you everything that I know about alarms, and that is a long story indeed.")

    first = FrozenUtterance(text="Tell me about alarms.", transcript="Tell me about alarms.")
    second = FrozenUtterance(
        text="Stop, that is enough.", transcript="Stop, that is enough.", start=UtteranceStart(over_ms=1500)
    )
    scenario = errands["alarm"].model_copy(update={"caller": RecordedCaller(utterances=(first, second))})
    done = await run(start_bot(decide=talks), scenario)
    (cut,) = done.result.conversation.interruptions
    voice = next(turn for turn in done.result.conversation.turns if turn.side is Side.AGENT)
    assert cut.by is Side.USER
    assert voice.cut
    assert abs(done.trace.of(UtterancePlayed)[1].t_ms - voice.start_ms - 1500) <= 60
    assert done.result.conversation.overlaps


async def test_agent_is_not_asked_again_after_its_turns_with_tool_calls(start_bot, errands, run):
    def insists(messages, tools):
        return BrainReply(calls=(BrainCall("set_alarm", {"time": "noon"}), BrainCall("mail.send", {"to": "Bob"})))

    scenario = errands["two_mails"].model_copy(update={"max_tool_turns": 2})
    done = await run(start_bot(decide=insists), scenario)
    first, second = done.trace.of(UtterancePlayed)
    calls = [call.seq for call in done.trace.of(ToolCalled)]
    assert sum(first.seq < seq < second.seq for seq in calls) == 4
    assert sum(seq > second.seq for seq in calls) == 4
    assert all(not event.cancelled for event in done.trace.of(ToolReturned))
    assert done.result.stop_reason is StopReason.CALLER_DONE


async def test_utterance_without_sound_keeps_its_attempt_from_being_evaluated(start_bot, errands, run):
    caller = RecordedCaller(utterances=(FrozenUtterance(transcript="Nothing."),))
    scenario = errands["alarm"].model_copy(update={"caller": caller})
    done = await run(start_bot(decide=does_errands), scenario)
    assert (done.result.outcome.kind, done.result.outcome.cause) == (OutcomeKind.NOT_EVALUABLE, Cause.INIT)
    assert "utterance 1 of the caller: no audio" in done.result.outcome.detail
    assert done.result.stop_reason is StopReason.NOT_STARTED


STREET = LineConditions.model_validate(
    {
        "name": "street",
        "to_agent": {"noise": {"level_dbfs": -50}, "band": {}, "loss": {"rate": 0.02, "burst_ms": 20}, "delay_ms": 100},
        "to_user": {"noise": {"level_dbfs": -45}, "delay_ms": 100},
    }
)


async def test_call_over_a_bad_line_is_understood_and_two_leave_equal_bytes(start_bot, errands, run):
    bot, scenario = start_bot(decide=does_errands), errands["two_mails"].model_copy(update={"line": STREET})
    direct = await run(bot, errands["two_mails"], "direct")
    runs = [await run(bot, scenario, name) for name in ("one", "two")]
    for name in ("conversation_log.wav", "said_log.wav"):
        assert len({(done.folder / name).read_bytes() for done in runs}) == 1
    lines = [(done.folder / "trace.jsonl").read_text(encoding="utf-8").splitlines()[1:] for done in runs]
    one, two = ([line for line in each if '"event":"call_ended"' not in line] for each in lines)
    assert one == two
    assert runs[0].result.outcome.kind is OutcomeKind.PASSED, runs[0].result.outcome.detail
    turns = runs[0].result.conversation.turns
    assert [turn.side for turn in turns] == [turn.side for turn in direct.result.conversation.turns]
    heard, said = (read_recording(runs[0].folder / name) for name in ("conversation_log.wav", "said_log.wav"))
    assert len(speech_segments(said.user_heard, 16_000)) == len(
        [turn for turn in turns if turn.side is Side.AGENT and turn.text]
    )
    last = speech_segments(said.user_heard, 16_000)[-1]
    assert len(heard.user_heard) // 16 >= last.end_ms + 100


async def test_delay_of_the_line_is_in_the_latency_that_the_caller_hears(start_bot, errands, run):
    bot, scenario = start_bot(decide=does_errands), errands["two_mails"]
    far_line = LineConditions.model_validate({"name": "far", "both": {"delay_ms": 100}})
    near = await run(bot, scenario, "near")
    far = await run(bot, scenario.model_copy(update={"line": far_line}), "far")
    waits = [[item.latency_ms for item in done.result.conversation.latency.responses] for done in (near, far)]
    assert len(waits[0]) == 2
    assert waits[1] == [pytest.approx(wait_ms + 200, abs=40) for wait_ms in waits[0]]


async def test_rescoring_a_call_over_a_bad_line_changes_nothing(start_bot, errands, run):
    scenario = errands["alarm"].model_copy(update={"line": STREET})
    done = await run(start_bot(decide=does_errands), scenario)
    before = (done.folder / "result.json").read_bytes()
    assert rescore_folder(done.folder) == done.result
    assert (done.folder / "result.json").read_bytes() == before
    (done.folder / "said_log.wav").unlink()
    with pytest.raises(TraceError, match=r"said_log\.wav: missing; the trace says that the call was recorded"):
        rescore_folder(done.folder)
