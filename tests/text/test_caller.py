from collections.abc import Callable, Sequence
from typing import Any

import pytest

from duologue.brains.reply import BrainReply
from duologue.errors import FixtureError, RegistryError
from duologue.records.action import Side
from duologue.records.caller import Caller, ClipSource, FrozenUtterance, MachineCaller, RecordedCaller
from duologue.records.event import CallEnded, CallStarted, HeardText, UtterancePlayed
from duologue.records.outcome import StopReason
from duologue.records.scenario import Scenario
from duologue.text.caller import build_text_caller
from duologue.toolkit.caller_machine import (
    CALLER_MACHINES,
    AgentStarted,
    AgentStopped,
    HangUp,
    Happening,
    MachineSetup,
    Move,
    PlayClip,
    TimePassed,
    WordsHeard,
)
from duologue.trace.reader import Trace
from tests.bridge.counter_shop import DOMAIN, shop_scenario
from tests.text.stage import between

CLIPS = {"order": ClipSource(text="Two rolls."), "stop": ClipSource(transcript="Stop."), "bye": ClipSource(text="Bye.")}


class Customer:
    """Orders, breaks into a turn of more than three seconds, and leaves when it hears a goodbye."""

    def __init__(self, setup: MachineSetup) -> None:
        self.setup = setup
        self._began_ms: int | None = None
        self._heard = ""

    def take(self, happening: Happening) -> Sequence[Move]:
        match happening:
            case AgentStarted(at_ms):
                self._began_ms, self._heard = at_ms, ""
            case WordsHeard(_, text):
                self._heard += text
            case TimePassed(at_ms, is_agent_audible=True) if self._began_ms and at_ms > self._began_ms + 3000:
                self._began_ms = None
                return (PlayClip("stop", at_ms),)
            case AgentStopped(at_ms) if self._began_ms is not None:
                return (PlayClip("bye", at_ms), HangUp()) if "goodbye" in self._heard else (PlayClip("order", at_ms),)
        return ()


@pytest.fixture(autouse=True)
def customer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CALLER_MACHINES, "_entries", {(DOMAIN, "customer"): Customer})


class Seller:
    """Says one line after the other."""

    def __init__(self, *lines: str) -> None:
        self._lines = list(lines)

    def decide(self, messages: list[dict[str, Any]], tools: list[str]) -> BrainReply:
        return BrainReply(self._lines.pop(0) if self._lines else "")


def scenario(caller: Caller) -> Scenario:
    return shop_scenario(caller=caller, has_user_state=False, user_needs_tools=False, initialization_actions=())


def machine(name: str = "customer", **changes: Any) -> Scenario:
    return scenario(MachineCaller(machine=name, clips=CLIPS, **changes))


def played(subject: Scenario, *lines: str) -> Trace:
    caller = build_text_caller(subject, "seed")
    assert caller is not None
    return between(subject, Seller(*lines), caller)


def heard(trace: Trace, side: Side) -> list[str]:
    return [event.text for event in trace.of(HeardText) if event.side is side]


def end_of(trace: Trace) -> StopReason:
    ended = trace.last(CallEnded)
    assert ended is not None
    return ended.stop_reason


def test_lines_of_a_machine_are_the_words_of_its_clips() -> None:
    trace = played(machine(), "Hello.", "One or two of them, " * 3, "Then goodbye.")
    assert heard(trace, Side.AGENT) == ["Two rolls.", "Stop.", "Bye."]
    assert [event.clip for event in trace.of(UtterancePlayed)] == ["order", "stop", "bye"]
    assert end_of(trace) is StopReason.CALLER_DONE


def test_two_text_calls_of_a_machine_are_equal() -> None:
    one, other = (played(machine(), "Hello.", "So.", "Then goodbye.") for _ in range(2))
    assert one.events == other.events


def test_recorded_caller_speaks_first_and_leaves_after_the_last_answer() -> None:
    utterances = (FrozenUtterance(text="Hello."), FrozenUtterance(audio="a.wav", transcript="Two rolls."))
    trace = played(scenario(RecordedCaller(utterances=utterances)), "What do you want?", "Here they are.")
    assert heard(trace, Side.AGENT) == ["Hello.", "Two rolls."]
    assert heard(trace, Side.USER) == ["What do you want?", "Here they are."]
    started = trace.last(CallStarted)
    assert started is not None and started.kick_off == ""
    assert end_of(trace) is StopReason.CALLER_DONE


def test_silent_agent_ends_a_machines_text_call() -> None:
    assert end_of(played(machine())) is StopReason.TIMEOUT


def test_live_caller_is_a_brain_s() -> None:
    assert build_text_caller(shop_scenario(), "seed") is None


@pytest.mark.parametrize(
    ("subject", "error", "words"),
    [
        (lambda: machine("nobody"), RegistryError, "no caller machine 'nobody'; known: customer"),
        (
            lambda: scenario(RecordedCaller(utterances=(FrozenUtterance(audio="a.wav"),))),
            FixtureError,
            "counter_shop__1: utterance 1 of the caller: no transcript",
        ),
    ],
)
def test_what_cannot_be_played_is_named(subject: Callable[[], Scenario], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        build_text_caller(subject(), "seed")
