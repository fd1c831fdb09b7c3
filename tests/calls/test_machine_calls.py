"""A caller that is a state machine over a bank of clips, over real speech in lock-step."""

import json

import pytest

from duologue.brains.reply import BrainReply
from duologue.records.action import Side
from duologue.records.caller import ClipSource, MachineCaller
from duologue.records.event import CallStarted, Fault, UtterancePlayed
from duologue.records.outcome import Cause, OutcomeKind, StopReason
from duologue.records.scenario import Scenario

pytestmark = [pytest.mark.socket, pytest.mark.speech]

SENTENCES = {
    "complaint": "My heating is cold.",
    "yes": "Yes.",
    "stop": "Stop, that is enough.",
}
LONG = "I will now tell you everything that I know about heatings, and that is a very long story indeed."


def called_by(scenario: Scenario, machine: str = "complainer", **clips: ClipSource) -> Scenario:
    bank = clips or {name: ClipSource(text=text) for name, text in SENTENCES.items()}
    caller = MachineCaller(machine=machine, clips=bank, settings={"limit_ms": 2000})
    return scenario.model_copy(update={"caller": caller, "grading": {"calls": []}})


def talks(*lines):
    """An agent that says one line for each message it hears, and the last one ever after."""

    def decide(messages, tools):
        if messages[-1]["role"] != "user":
            return BrainReply("")
        said = sum(message["role"] == "assistant" for message in messages)
        return BrainReply(lines[min(said, len(lines) - 1)])

    return decide


AGENT = talks("Hello.", "I see. Is it cold?", LONG, "Goodbye.")


def played(done):
    return [event.clip for event in done.trace.of(UtterancePlayed)]


async def test_machine_answers_interrupts_and_hangs_up(start_bot, errands, run):
    done = await run(start_bot(decide=AGENT), called_by(errands["alarm"]))
    assert not done.trace.of(Fault)
    assert played(done) == ["complaint", "yes", "stop"]
    assert done.trace.last(CallStarted).kick_off == "Hello"
    (cut,) = done.result.conversation.interruptions
    assert cut.by is Side.USER
    long_turn = next(turn for turn in done.result.conversation.turns if turn.side is Side.AGENT and turn.cut)
    assert abs(done.trace.of(UtterancePlayed)[2].t_ms - long_turn.start_ms - 2000) <= 60
    assert done.result.stop_reason is StopReason.CALLER_DONE
    assert done.result.outcome.kind is OutcomeKind.PASSED, done.result.outcome.detail


async def test_two_runs_of_a_machine_leave_equal_bytes(start_bot, errands, run):
    bot = start_bot(decide=AGENT)
    runs = [await run(bot, called_by(errands["alarm"]), name) for name in ("one", "two")]
    wavs = [(done.folder / "conversation_log.wav").read_bytes() for done in runs]
    lines = [(done.folder / "trace.jsonl").read_text(encoding="utf-8").splitlines()[1:] for done in runs]
    events = [[text for text in each if json.loads(text)["event"] != "call_ended"] for each in lines]
    assert wavs[0] == wavs[1]
    assert events[0] == events[1]
    assert played(runs[0])


async def test_clip_that_a_machine_does_not_have_is_no_fault_of_the_agent(start_bot, errands, run):
    done = await run(start_bot(decide=AGENT), called_by(errands["alarm"], yes=ClipSource(text="Yes.")))
    (fault,) = done.trace.of(Fault)
    assert fault.cause is Cause.HARNESS
    assert "errands__alarm: its caller plays the clip 'complaint', but has only yes" in fault.message
    assert done.result.outcome.kind is OutcomeKind.NOT_EVALUABLE


async def test_clip_without_sound_is_named(start_bot, errands, run):
    done = await run(start_bot(decide=AGENT), called_by(errands["alarm"], yes=ClipSource(transcript="Yes.")))
    assert (done.result.outcome.kind, done.result.outcome.cause) == (OutcomeKind.NOT_EVALUABLE, Cause.INIT)
    assert "clip yes of the caller: no audio" in done.result.outcome.detail
