import asyncio
from pathlib import Path

import numpy as np
import pytest

from duologue.bridge.settings import RealtimeSettings
from duologue.records import event as ev
from duologue.records.action import Side
from duologue.records.outcome import Cause, StopReason
from duologue.testing.scripted_bot import BotFaults, BotScript, ScriptedBot
from tests.interop.foreign_bot import ForeignBot, tone
from tests.interop.shop_bots import shop_bot
from tests.interop.stage import play

pytestmark = [pytest.mark.socket, pytest.mark.slow]

PATIENT_16_MS = RealtimeSettings(frame_ms=16, max_lag_ms=100_000, max_late_share=1.0)


async def leaves(bot: ForeignBot) -> None:
    await asyncio.sleep(0.1)
    await bot.leave()


async def test_a_bot_in_lock_step_is_met_in_real_time_with_its_own_frames(tmp_path: Path) -> None:
    loud = tone(0.02, 16000)
    user = ScriptedBot(BotScript(audio=lambda tick: loud if 20 <= tick < 40 else None))
    played = await play(tmp_path, shop_bot(leaves), user, realtime=PATIENT_16_MS)
    assert played.trace.of(ev.Fault) == []
    (session,) = user.sessions
    assert {len(frame) for frame in session.heard} == {640}
    assert np.count_nonzero(np.abs(played.tracks.agent_heard) > 100) / 16 == pytest.approx(400, abs=20)


async def test_a_bot_that_dies_ends_the_call_at_once(tmp_path: Path) -> None:
    user = ScriptedBot(None, BotFaults(dies_at_tick=60))
    played = await play(tmp_path, shop_bot(), user)
    ended = played.trace.last(ev.CallEnded)
    assert ended is not None and ended.stop_reason is StopReason.BOT_LOST
    assert ended.media_ms < 3000
    assert (played.fault.cause, played.fault.side) == (Cause.TRANSPORT, Side.USER)


async def test_a_slow_acknowledgement_does_not_hold_up_the_sound(tmp_path: Path) -> None:
    async def asks(bot: ForeignBot) -> None:
        await bot.act("request_payment", {})
        await bot.play(tone(1.0))
        await bot.leave()

    user = shop_bot(delays={"apply_sync_delta": 0.2})
    played = await play(tmp_path, shop_bot(asks), user)
    push = next(event for event in played.trace.of(ev.DeltaPushed) if event.delta == {"wallet.bill": "due"})
    applied = played.trace.of(ev.ActionApplied)[0]
    assert push.t_ms - applied.t_ms >= 400
    heard = np.flatnonzero(np.abs(played.tracks.user_heard) > 100) / 16
    assert heard[0] < push.t_ms


async def test_how_late_the_loop_was_is_in_the_trace(tmp_path: Path) -> None:
    played = await play(tmp_path, shop_bot(leaves))
    (timed,) = played.trace.of(ev.LoopTimed)
    ended = played.trace.last(ev.CallEnded)
    assert ended is not None
    assert timed.ticks == ended.media_ms // 20 - 1
    assert set(timed.gaps) == set(Side)
