from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from duologue.bridge.realtime_pacing import Pacer
from duologue.bridge.settings import RealtimeSettings
from duologue.errors import LoopTooLate
from duologue.records.event import CallEnded, LoopTimed
from duologue.records.run_layout import RECORDING
from duologue.testing.scripted_bot import BotScript, exit_push
from tests.bridge.stage import play

LIMITS = RealtimeSettings(jitter_ms=80, max_lag_ms=250, max_late_share=0.02)


@dataclass
class SetClock:
    """Time that moves when it is told to, and in sleeps."""

    now: float = 100.0

    def monotonic(self) -> float:
        return self.now

    def utc_now(self) -> datetime:
        return datetime(2025, 2, 25, tzinfo=UTC)

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


async def test_a_tick_waits_for_its_time_and_not_longer() -> None:
    clock = SetClock()
    pacer = Pacer(clock, LIMITS)
    for number in range(1, 51):
        clock.now += 0.003
        await pacer.wait(20 * number)
    assert clock.now == pytest.approx(101.0)
    assert (pacer.ticks, pacer.late_ticks, pacer.max_lag_ms) == (50, 0, 0)


async def test_a_loop_that_was_late_catches_up() -> None:
    clock = SetClock()
    pacer = Pacer(clock, LIMITS)
    clock.now += 0.2
    for number in range(1, 21):
        await pacer.wait(20 * number)
    assert clock.now == pytest.approx(100.4)
    assert (pacer.late_ticks, pacer.max_lag_ms) == (5, 180)
    pacer.finish()


async def test_a_loop_that_falls_too_far_behind_ends_the_call() -> None:
    clock = SetClock()
    pacer = Pacer(clock, LIMITS)
    clock.now += 0.3
    with pytest.raises(LoopTooLate, match="this bridge fell 280 ms behind real time, 250 are allowed"):
        await pacer.wait(20)


async def test_many_late_ticks_do_not_count_as_a_call_in_real_time() -> None:
    clock = SetClock()
    pacer = Pacer(clock, LIMITS)
    for number in range(1, 101):
        clock.now = max(clock.now, 100 + 0.02 * number + (0.1 if number <= 20 else 0.0))
        await pacer.wait(20 * number)
    with pytest.raises(LoopTooLate, match="of 100 frames left more than 80 ms late"):
        pacer.finish()


async def test_lateness_does_no_harm_where_media_time_waits() -> None:
    clock = SetClock()
    pacer = Pacer(clock)
    clock.now += 5
    await pacer.wait(20)
    pacer.finish()
    assert pacer.max_lag_ms == 4980


def test_a_bot_that_says_it_is_late_counts_like_the_bridge() -> None:
    pacer = Pacer(SetClock(), LIMITS)
    with pytest.raises(LoopTooLate, match="the user bot fell 900 ms behind"):
        pacer.note_lag(900, "the user bot")


@pytest.mark.slow
@pytest.mark.socket
async def test_a_call_in_lock_step_at_wall_pace_is_the_call_at_free_pace(tmp_path: Path) -> None:
    tone = (np.sin(np.arange(320)) * 8000).astype("<i2").tobytes()
    agent = BotScript(
        audio=lambda tick: tone if tick < 30 else None,
        writes={2: [("request_payment", {})]},
        messages={40: [exit_push()]},
    )
    user = BotScript(writes={10: [("pay_bill", {})]})
    free = await play(tmp_path / "free", agent, user)
    wall = await play(tmp_path / "wall", agent, user, pace="wall")
    assert (wall.folder / RECORDING).read_bytes() == (free.folder / RECORDING).read_bytes()
    ended = [played.trace.events[-1] for played in (free, wall)]
    assert ended[0] == ended[1]
    assert wall.trace.of(LoopTimed) == []
    (call,) = wall.trace.of(CallEnded)
    assert call.wall_ms >= call.media_ms - 20
