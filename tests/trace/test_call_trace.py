"""The grammar of a trace: what is refused, and that a call ends once."""

import ast
import asyncio
from pathlib import Path

import pytest

from duologue.errors import (
    BotTimeout,
    BotUnavailable,
    InitializationFailed,
    LoopTooLate,
    ProtocolViolation,
    ReconcileFailed,
    TraceError,
)
from duologue.records import event as ev
from duologue.records.action import RecordedAction, Side
from duologue.records.outcome import Cause, StopReason
from duologue.trace.call_trace import CallTrace
from duologue.trace.writer import TraceMemory
from tests.bridge.counter_shop import shop_scenario
from tests.bridge.stage import header

ENGINE = Path(__file__).parents[2] / "duologue"
AGENT, USER = Side.AGENT, Side.USER
READY = ev.BotReady(side=AGENT)
PREPARED = ev.Prepared(side=AGENT, prompt_digest="", tools=(), digest=None)
INITIAL = ev.InitialState(agent_db={}, user_db=None)
STARTED = ev.CallStarted()
SPOKEN = ev.SpokenText(side=AGENT, text="Hello. ")
ENDED = ev.CallEnded(stop_reason=StopReason.EXIT, media_ms=0)
SUMMARY = ev.SummaryPulled(side=AGENT)
CONTEXT = ev.ContextPulled(side=AGENT)
FINAL = ev.FinalState(agent_db={}, user_db=None, agent_digest=None, user_digest=None)
RECORDING = ev.RecordingWritten(path="a.wav", sha256="", sample_rate_hz=16_000, samples=0)
CHECKED = ev.StateChecked(side=AGENT, bot_digest=None, shadow_digest="", equal=True)
APPLIED = ev.ActionApplied(side=AGENT, action=RecordedAction(action_type="tool", name="sell"))
FAULT = ev.Fault(cause=Cause.HARNESS, error="E", message="m")
HELD, LEFT = (ev.ResourceSnapshot(name="shelf", moment=moment, digest="", data={}) for moment in ("initial", "final"))

UP_TO_START = (READY, PREPARED, INITIAL, STARTED)
WHOLE = (*UP_TO_START, SPOKEN, ENDED, SUMMARY, CONTEXT, FINAL, RECORDING)


def open_trace() -> tuple[CallTrace, TraceMemory]:
    memory = TraceMemory(header(shop_scenario()))
    return CallTrace(memory), memory


def written(*events: ev.Event) -> tuple[CallTrace, TraceMemory]:
    trace, memory = open_trace()
    for event in events:
        trace.write(event)
    return trace, memory


def test_events_are_numbered_and_stamped() -> None:
    seen: list[ev.Event] = []
    memory = TraceMemory(header(shop_scenario()))
    trace = CallTrace(memory, seen.append)
    for event in UP_TO_START:
        trace.write(event)
    trace.move_to(40)
    trace.write(SPOKEN)
    trace.media_ms = 60
    trace.write(SPOKEN)
    trace.end(StopReason.TIMEOUT)
    assert [event.seq for event in seen] == [1, 2, 3, 4, 5, 6, 7]
    assert [event.t_ms for event in seen[4:]] == [40, 40, 60]
    ended = memory.trace().last(ev.CallEnded)
    assert ended is not None and (ended.stop_reason, ended.media_ms, ended.wall_ms) == (StopReason.TIMEOUT, 60, 0)
    assert memory.trace().events == tuple(seen)


@pytest.mark.parametrize(
    "events",
    [
        WHOLE,
        (ENDED,),
        (READY, FAULT, ENDED, FAULT),
        (READY, PREPARED, CHECKED, INITIAL, FAULT, ENDED, FINAL),
        (
            READY,
            ev.BotReady(side=USER),
            PREPARED,
            INITIAL,
            HELD,
            STARTED,
            ENDED,
            CHECKED,
            FAULT,
            LEFT,
            FINAL,
            RECORDING,
        ),
    ],
)
def test_order_of_the_grammar_is_taken(events: tuple[ev.Event, ...]) -> None:
    _, memory = written(*events)
    assert len(memory.trace().events) == len(events)


@pytest.mark.parametrize(
    ("before", "event", "words"),
    [
        ((), PREPARED, "of the agent side, which is not ready"),
        ((READY,), ev.Prepared(side=USER, prompt_digest="", tools=(), digest=None), "of the user side"),
        ((READY,), READY, "bot_ready of agent is in the trace already"),
        ((READY, PREPARED), PREPARED, "prepared of agent is in the trace already"),
        ((READY,), STARTED, "call_started has no place in a trace that is preparing"),
        ((READY,), SPOKEN, "spoken_text has no place in a trace that is preparing"),
        ((READY,), APPLIED, "preparing"),
        ((READY,), SUMMARY, "preparing"),
        ((READY,), FINAL, "preparing"),
        ((READY,), RECORDING, "preparing"),
        ((READY,), HELD, "preparing"),
        ((READY, INITIAL), READY, "bot_ready has no place in a trace that is ready"),
        ((READY, INITIAL), PREPARED, "ready"),
        ((READY, INITIAL), INITIAL, "ready"),
        ((READY, INITIAL), SPOKEN, "ready"),
        ((READY, INITIAL), CHECKED, "ready"),
        ((READY, INITIAL), LEFT, "of moment final has no place in a trace that is ready"),
        ((READY, INITIAL, HELD), HELD, "resource_snapshot of shelf, initial is in the trace already"),
        (UP_TO_START, READY, "bot_ready has no place in a trace that is talking"),
        (UP_TO_START, PREPARED, "talking"),
        (UP_TO_START, INITIAL, "talking"),
        (UP_TO_START, STARTED, "talking"),
        (UP_TO_START, HELD, "talking"),
        (UP_TO_START, SUMMARY, "talking"),
        (UP_TO_START, CONTEXT, "talking"),
        (UP_TO_START, FINAL, "talking"),
        (UP_TO_START, RECORDING, "talking"),
        ((*UP_TO_START, ENDED), ENDED, "call_ended has no place in a trace that is ended"),
        ((*UP_TO_START, ENDED), STARTED, "ended"),
        ((*UP_TO_START, ENDED), SPOKEN, "ended"),
        ((*UP_TO_START, ENDED), APPLIED, "ended"),
        ((*UP_TO_START, ENDED), READY, "ended"),
        ((*UP_TO_START, ENDED), HELD, "of moment initial has no place in a trace that is ended"),
        ((*UP_TO_START, ENDED), RECORDING, "ended"),
        ((*UP_TO_START, ENDED, SUMMARY), SUMMARY, "summary_pulled of agent is in the trace already"),
        ((*UP_TO_START, ENDED, CONTEXT), CONTEXT, "context_pulled of agent is in the trace already"),
        ((READY, ENDED), FINAL, "final_state without an initial state"),
        (WHOLE[:-1], SUMMARY, "summary_pulled has no place in a trace that is final"),
        (WHOLE[:-1], FINAL, "final"),
        (WHOLE[:-1], FAULT, "final"),
        (WHOLE[:-1], ENDED, "final"),
        (WHOLE, RECORDING, "recording_written of a.wav is in the trace already"),
    ],
)
def test_what_has_no_place_is_refused_and_leaves_the_trace_as_it_was(
    before: tuple[ev.Event, ...], event: ev.Event, words: str
) -> None:
    trace, memory = written(*before)
    with pytest.raises(TraceError, match=words):
        trace.write(event)
    assert len(memory.trace().events) == len(before)


def breaks(error: Exception) -> None:
    raise error


@pytest.mark.parametrize(
    ("error", "cause", "before", "after"),
    [
        (BotUnavailable("gone", side="agent"), Cause.TRANSPORT, StopReason.NOT_STARTED, StopReason.BOT_LOST),
        (BotTimeout("slow", side="user"), Cause.TRANSPORT, StopReason.NOT_STARTED, StopReason.BOT_LOST),
        (ProtocolViolation("odd", side="user"), Cause.TRANSPORT, StopReason.NOT_STARTED, StopReason.FAULT),
        (InitializationFailed("no"), Cause.INIT, StopReason.NOT_STARTED, StopReason.FAULT),
        (ReconcileFailed("no"), Cause.SYNC, StopReason.NOT_STARTED, StopReason.FAULT),
        (LoopTooLate("no"), Cause.HARNESS, StopReason.NOT_STARTED, StopReason.FAULT),
        (KeyError("x"), Cause.HARNESS, StopReason.NOT_STARTED, StopReason.FAULT),
    ],
)
def test_error_ends_the_call_as_what_it_is(
    error: Exception, cause: Cause, before: StopReason, after: StopReason
) -> None:
    for events, reason in (((READY,), before), (UP_TO_START, after)):
        trace, memory = written(*events)
        with trace.ended_by_trouble():
            breaks(error)
        fault, ended = memory.trace().events[-2:]
        assert isinstance(fault, ev.Fault) and isinstance(ended, ev.CallEnded)
        assert (fault.cause, fault.error, ended.stop_reason) == (cause, type(error).__name__, reason)
        assert fault.side == getattr(error, "side", None)


def test_stop_ends_the_call_and_goes_on() -> None:
    trace, memory = written(*UP_TO_START)
    trace.move_to(20)
    with pytest.raises(asyncio.CancelledError), trace.ended_by_trouble():
        raise asyncio.CancelledError
    last = memory.trace().events[-1]
    assert isinstance(last, ev.CallEnded) and (last.stop_reason, last.media_ms) == (StopReason.INTERRUPTED, 20)


@pytest.mark.parametrize("error", [OSError("disk full"), asyncio.CancelledError()])
def test_call_that_has_ended_is_not_ended_again(error: BaseException) -> None:
    trace, memory = written(*UP_TO_START, ENDED)
    with pytest.raises(type(error)), trace.ended_by_trouble():
        raise error
    assert memory.trace().events[-1].event == "call_ended"
    assert len(memory.trace().of(ev.CallEnded)) == 1


def test_trace_that_takes_no_more_lets_the_error_through(caplog: pytest.LogCaptureFixture) -> None:
    trace, _ = written(*UP_TO_START)
    trace.close()
    with pytest.raises(ZeroDivisionError), trace.ended_by_trouble():
        raise ZeroDivisionError
    assert "the trace cannot be ended" in caplog.text


def test_no_other_module_of_the_engine_ends_a_call_or_writes_past_the_grammar() -> None:
    calls = {
        (path.relative_to(ENGINE).as_posix(), node.func.id)
        for path in ENGINE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    enders = {path for path, name in calls if name == "CallEnded"}
    assert enders == {"trace/call_trace.py", "testing/builders.py"}
    openers = {path for path, name in calls if name in {"TraceWriter", "TraceMemory"}}
    assert openers == {"runner/attempt.py", "text/call.py", "testing/builders.py"}
