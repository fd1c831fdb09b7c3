from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from duologue.protocol.messages import InterruptionMark, RtviMessage
from duologue.records import event as ev
from duologue.records.outcome import Cause, StopReason
from duologue.testing.scripted_bot import BotFaults, BotScript, exit_push, speaking
from tests.bridge.stage import play

pytestmark = pytest.mark.socket


class SteppedClock:
    """Time that passes only by sleeping."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def utc_now(self) -> datetime:
        return datetime(2025, 2, 25, tzinfo=UTC)

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


async def test_wall_pace_sleeps_to_the_end_of_each_tick(tmp_path: Path) -> None:
    clock, seen = SteppedClock(), []
    played = await play(
        tmp_path, clock=clock, pace="wall", on_tick=lambda ms: seen.append((ms, round(clock.now * 1000)))
    )
    ended = played.trace.last(ev.CallEnded)
    assert ended is not None and seen[-1][0] == ended.media_ms
    assert all(wall == media - 20 for media, wall in seen)


async def test_free_pace_never_sleeps(tmp_path: Path) -> None:
    clock = SteppedClock()
    await play(tmp_path, clock=clock)
    assert clock.now == 0.0


async def test_event_carries_the_media_time_of_its_tick(tmp_path: Path) -> None:
    agent = BotScript(messages={0: [speaking(True)], 3: [speaking(False)], 5: [exit_push()]})
    trace = (await play(tmp_path, agent)).trace
    assert [event.t_ms for event in trace.of(ev.BotSpeaking)] == [0, 60]
    assert [event.t_ms for event in trace.of(ev.CallStarted)] == [0]


@pytest.mark.parametrize(("rate", "tail_ticks"), [(16_000, 0), (24_000, 1)])
async def test_nothing_of_an_interrupted_bot_is_left_in_the_bridge(tmp_path: Path, rate: int, tail_ticks: int) -> None:
    loud = (np.ones(rate // 50) * 3000).astype("<i2").tobytes()
    interrupted: list[InterruptionMark | RtviMessage] = [InterruptionMark(), RtviMessage("bot-interrupted")]
    agent = BotScript(
        audio=lambda tick: loud if tick < 50 else None,
        sample_rate_hz=rate,
        messages={50: interrupted, 60: [exit_push()]},
    )
    played = await play(tmp_path, agent)
    last_heard_tick = np.flatnonzero(np.abs(played.tracks.user_heard) > 1500)[-1] // 320
    assert last_heard_tick == 50 + tail_ticks
    assert len(played.trace.of(ev.Interrupted)) == 1


@pytest.mark.parametrize(
    "said",
    [
        RtviMessage("error", data={"error": "no model", "fatal": True}),
        RtviMessage("server-message", data={"type": "bot-error", "message": "no model", "fatal": True}),
    ],
    ids=["error", "bot-error"],
)
async def test_fatal_error_of_a_bot_ends_the_call(tmp_path: Path, said: RtviMessage) -> None:
    played = await play(tmp_path, user=BotScript(messages={4: [said]}))
    assert "the user bot reported a fatal error: no model" in played.fault.message
    assert played.fault.cause is Cause.TRANSPORT


async def test_listener_sees_every_event_in_order(tmp_path: Path) -> None:
    seen: list[ev.Event] = []
    played = await play(tmp_path, on_event=seen.append)
    assert tuple(seen) == played.trace.events


async def test_interruption_of_an_idle_bot_cuts_nothing_and_leaves_no_event(tmp_path: Path) -> None:
    agent = BotScript(messages={3: [RtviMessage("bot-interrupted")], 5: [exit_push()]})
    assert (await play(tmp_path, agent)).trace.of(ev.Interrupted) == []


@pytest.mark.slow
async def test_slow_bot_may_name_a_longer_bound_for_a_tick(tmp_path: Path) -> None:
    faults = BotFaults(slow_tick=(3, 0.4))
    patient = BotScript(messages={5: [exit_push()]}, capabilities={"max_tick_s": 5})
    assert (await play(tmp_path / "a", patient, agent_faults=faults, tick_timeout_s=0.2)).trace.of(ev.Fault) == []
    plain = BotScript(messages={5: [exit_push()]})
    played = await play(tmp_path / "b", plain, agent_faults=faults, tick_timeout_s=0.2)
    assert "gave no audio for a tick within 0.2 s" in played.fault.message


async def test_caller_that_may_not_hang_up_does_not_end_the_call(tmp_path: Path) -> None:
    agent, user = BotScript(messages={60: [exit_push()]}), BotScript(messages={5: [exit_push()]})
    stays = await play(tmp_path / "a", agent, user, drain_s=0.2)
    leaves = await play(
        tmp_path / "b", agent, BotScript(messages=user.messages, capabilities={"ends_call": True}), drain_s=0.2
    )
    ends = [played.trace.last(ev.CallEnded) for played in (stays, leaves)]
    assert [end.stop_reason for end in ends if end is not None] == [StopReason.EXIT, StopReason.CALLER_DONE]
