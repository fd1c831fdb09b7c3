"""A bridge that can drive bots of the field: the checklist, one test for each line."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import numpy as np
import pytest

from duologue.bridge.settings import RealtimeSettings
from duologue.records import event as ev
from duologue.records.action import Side
from duologue.records.outcome import Cause, EvidenceSource, OutcomeKind, StopReason
from duologue.testing.scripted_bot import BotScript
from tests.interop.foreign_bot import ForeignBot, tone
from tests.interop.shop_bots import shop_bot
from tests.interop.stage import PATIENT, FastClock, play

pytestmark = [pytest.mark.socket, pytest.mark.slow]


async def leaves(bot: ForeignBot) -> None:
    await bot.leave()


async def test_a_busy_bot_is_asked_again_with_growing_waits(tmp_path: Path) -> None:
    agent = shop_bot(leaves, busy_for=2)
    played = await play(tmp_path, agent)
    assert (agent.turned_away, agent.connections) == (2, 1)
    assert played.trace.of(ev.Fault) == []


async def test_a_bot_that_stays_busy_is_a_transport_trouble(tmp_path: Path) -> None:
    settings = RealtimeSettings(busy_attempts=2, busy_wait_s=0.05)
    played = await play(tmp_path, shop_bot(leaves, busy_for=9), realtime=settings)
    assert (played.fault.cause, played.fault.error) == (Cause.TRANSPORT, "BotBusy")


async def test_bots_are_prepared_in_order_and_one_answer_at_a_time(tmp_path: Path) -> None:
    journal: list = []
    agent = shop_bot(leaves, name="agent", journal=journal, delays={"update_system_prompt": 0.1})
    user = shop_bot(name="user", journal=journal, delays={"update_system_prompt": 0.1})
    await play(tmp_path, agent, user)
    steps = [(name, t) for name, t, _ in journal]
    wanted = [
        ("user", "reset"),
        ("agent", "reset"),
        ("user", "update_system_prompt"),
        ("agent", "update_system_prompt"),
    ]
    wanted += [("agent", "apply_initialization"), ("user", "apply_initialization"), ("user", "apply_sync_delta")]
    assert [step for step in steps if not step[1].endswith("answered")][: len(wanted)] == wanted
    for name, t in wanted:
        assert steps.index((name, f"{t} answered")) == steps.index((name, t)) + 1


async def test_a_prompt_that_is_refused_is_an_init_trouble(tmp_path: Path) -> None:
    played = await play(tmp_path, shop_bot(answers={"update_system_prompt": lambda result: False}))
    assert (played.fault.cause, played.fault.message) == (Cause.INIT, "the agent bot refused update_system_prompt")


async def test_bots_are_sent_a_steady_stream_of_short_frames_with_digital_silence(tmp_path: Path) -> None:
    async def speaks(bot: ForeignBot) -> None:
        await bot.play(tone(0.2))
        await bot.leave()

    agent, user = shop_bot(speaks), shop_bot()
    played = await play(tmp_path, agent, user, realtime=RealtimeSettings(frame_ms=16, max_lag_ms=10**5))
    ended = played.trace.last(ev.CallEnded)
    assert ended is not None
    assert {len(frame) for frame in agent.frames + user.frames} == {512}
    assert len(agent.frames) == len(user.frames) == ended.media_ms // 16
    assert not any(b"".join(agent.frames))
    heard = np.frombuffer(b"".join(user.frames), "<i2")
    assert 0.19 <= np.count_nonzero(np.abs(heard) > 10) / 16000 <= 0.21
    assert np.array_equal(heard, played.tracks.user_heard[: len(heard)])


@pytest.mark.parametrize(("rate", "channels"), [(24000, 1), (16000, 1), (48000, 2)])
async def test_the_rate_and_channels_of_each_frame_are_honoured(tmp_path: Path, rate: int, channels: int) -> None:
    async def speaks(bot: ForeignBot) -> None:
        await bot.play(tone(1.0, rate, channels), rate, channels)
        await bot.leave()

    played = await play(tmp_path, shop_bot(speaks))
    heard = played.tracks.user_heard.astype(float)
    loud = np.flatnonzero(np.abs(heard) > 400)
    assert abs((loud[-1] - loud[0]) / 16 - 1000) < 5
    middle = heard[loud[0] + 1600 : loud[0] + 14400] * np.hanning(12800)
    assert int(np.abs(np.fft.rfft(middle)).argmax()) * 16000 / 12800 == pytest.approx(440, abs=1.3)


async def test_foreign_noise_on_the_wire_does_no_harm(tmp_path: Path) -> None:
    noise = [
        {"label": "rtvi-ai", "type": "server-response", "id": "apply_sync_delta_1.5", "data": {"t": "x", "d": 1}},
        {"label": "rtvi-ai", "type": "bot-output", "data": {"text": "?"}},
        {"label": "other", "type": "whatever"},
        {"label": "rtvi-ai", "type": "metrics", "data": {"ttfb": [{"processor": "p", "value": 0.1}]}},
    ]
    played = await play(tmp_path, shop_bot(leaves, noise=noise), shop_bot(noise=noise))
    assert played.trace.of(ev.Fault) == []
    pulled = played.trace.of(ev.ContextPulled)
    assert [event.messages for event in pulled] == 2 * [({"role": "assistant", "content": None, "ok": True},)]


async def test_a_result_that_is_null_and_left_out_is_an_init_trouble_and_no_crash(tmp_path: Path) -> None:
    played = await play(tmp_path, shop_bot(answers={"apply_initialization": lambda result: None}))
    assert (played.fault.cause, played.fault.error) == (Cause.INIT, "InitializationFailed")


async def test_the_kick_off_comes_a_second_after_the_start(tmp_path: Path) -> None:
    agent = shop_bot(leaves)
    await play(tmp_path, agent)
    assert agent.kicked_off_at == 50


async def test_writes_are_replayed_and_carried_over_and_the_acknowledgement_counts(tmp_path: Path) -> None:
    async def asks(bot: ForeignBot) -> None:
        await bot.act("request_payment", {})
        await asyncio.sleep(0.2)
        await bot.leave()

    user = shop_bot()
    played = await play(tmp_path / "good", shop_bot(asks), user)
    assert [event.delta for event in played.trace.of(ev.DeltaPushed)][-1] == {"wallet.bill": "due"}
    assert user.db is not None and user.db["wallet"]["bill"] == "due"
    assert played.result.evidence == {Side.AGENT: EvidenceSource.HASH, Side.USER: EvidenceSource.HASH}
    refuses = {"apply_sync_delta": lambda result: {"success": False, "errors": ["no"]}}
    played = await play(tmp_path / "bad", shop_bot(asks), shop_bot(answers=refuses))
    assert played.fault.cause is Cause.SYNC


async def test_the_last_words_are_heard_although_the_exit_overtakes_them(tmp_path: Path) -> None:
    async def hangs_up_early(bot: ForeignBot) -> None:
        await bot.leave()
        await bot.play(tone(1.5))

    played = await play(tmp_path, shop_bot(hangs_up_early))
    ended = played.trace.last(ev.CallEnded)
    assert ended is not None and ended.stop_reason is StopReason.EXIT
    assert np.count_nonzero(np.abs(played.tracks.user_heard) > 10) / 16000 == pytest.approx(1.5, abs=0.02)


async def test_context_and_summary_are_pulled_from_both_and_a_slow_context_is_waited_for(tmp_path: Path) -> None:
    journal: list = []
    agent = shop_bot(leaves, name="agent", journal=journal, delays={"get_context_history": 3.1})
    await play(tmp_path, agent, shop_bot(name="user", journal=journal))
    pulled = [(name, t) for name, t, _ in journal if t in ("get_context_history", "get_scenario_summary")]
    pairs = [(name, t) for name in ("agent", "user") for t in ("get_context_history", "get_scenario_summary")]
    assert pulled[-4:] == pairs
    assert (agent.connections, agent.turned_away) == (1, 0)


async def test_a_burst_is_cut_when_the_listener_breaks_in(tmp_path: Path) -> None:
    """Ten seconds of speech in one burst; the user speaks up after two seconds of it."""
    loud = tone(0.02, 16000)

    async def goes_on_and_on(bot: ForeignBot) -> None:
        await bot.play(tone(10.0))
        await bot.hears_something()
        await bot.interrupt()
        await asyncio.sleep(0.3)
        await bot.leave()

    user = BotScript(audio=lambda tick: loud if 154 <= tick < 184 else None)
    tracks = (await play(tmp_path, shop_bot(goes_on_and_on), user, max_duration_s=14, clock=FastClock(2.0))).tracks
    heard = np.flatnonzero(np.abs(tracks.user_heard) > 10)
    broke_in = np.flatnonzero(np.abs(tracks.agent_heard) > 10)[0]
    assert 1.5 < (broke_in - heard[0]) / 16000 < 4.0
    assert (heard[-1] - broke_in) / 16000 < 0.5


async def test_a_loop_that_is_late_makes_the_call_not_evaluable(tmp_path: Path) -> None:
    async def stays(bot: ForeignBot) -> None:
        await bot.play(tone(3.0))

    clock = FastClock(1.0, lag_at_s=1.5, lag_s=2.0)
    played = await play(tmp_path, shop_bot(stays), clock=clock, realtime=RealtimeSettings(max_lag_ms=1500))
    assert (played.fault.cause, played.fault.error) == (Cause.HARNESS, "LoopTooLate")
    timed = played.trace.last(ev.LoopTimed)
    assert timed is not None and timed.max_lag_ms >= 1900
    outcome = played.result.outcome
    assert (outcome.kind, outcome.cause) == (OutcomeKind.NOT_EVALUABLE, Cause.HARNESS)


async def test_a_busy_processor_makes_the_call_not_evaluable_and_decides_no_verdict(tmp_path: Path) -> None:
    done = threading.Event()

    def burn() -> None:
        while not done.is_set():
            pow(7, 400_000)  # one step keeps every other thread of the process waiting

    burner = threading.Thread(target=burn)

    async def stays(bot: ForeignBot) -> None:
        burner.start()
        await bot.play(tone(3.0))

    try:
        played = await play(tmp_path, shop_bot(stays), clock=FastClock(1.0), realtime=RealtimeSettings())
    finally:
        done.set()
        burner.join()
    assert (played.fault.cause, played.fault.error) == (Cause.HARNESS, "LoopTooLate")
    outcome = played.result.outcome
    assert (outcome.kind, outcome.cause) == (OutcomeKind.NOT_EVALUABLE, Cause.HARNESS)


async def test_a_bot_that_says_it_was_late_makes_the_call_not_evaluable(tmp_path: Path) -> None:
    async def confesses(bot: ForeignBot) -> None:
        await bot.message("server-message", {"type": "loop-lag", "lag_ms": 400_000})
        await asyncio.sleep(1)

    played = await play(tmp_path, shop_bot(confesses), realtime=PATIENT)
    assert played.fault.error == "LoopTooLate"
    assert "the agent bot fell 400000 ms behind" in played.fault.message
