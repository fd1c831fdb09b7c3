from pathlib import Path

import numpy as np
import pytest

from duologue.bridge.settings import RealtimeSettings
from duologue.records import event as ev
from duologue.records.action import Side
from duologue.records.outcome import StopReason
from duologue.testing.scripted_bot import BotFaults, BotScript, exit_push, speaking
from tests.bridge.stage import play

pytestmark = pytest.mark.socket

PAYING_AGENT = BotScript(writes={2: [("request_payment", {})]}, messages={20: [exit_push()]})
PAYING_USER = BotScript(writes={10: [("pay_bill", {})]})
PATIENT = RealtimeSettings(max_lag_ms=100_000, max_late_share=1.0)


async def test_payment_makes_the_round_trip_through_both_databases(tmp_path: Path) -> None:
    played = await play(tmp_path, PAYING_AGENT, PAYING_USER)
    trace = played.trace
    assert [event.message for event in trace.of(ev.Fault)] == []
    deltas = [(event.side, event.delta) for event in trace.of(ev.DeltaPushed)]
    assert deltas == [
        (Side.USER, {"wallet.shop": "Corner"}),
        (Side.USER, {"wallet.bill": "due"}),
        (Side.AGENT, {"order.status": "paid"}),
    ]
    final = trace.last(ev.FinalState)
    assert final is not None and final.agent_db is not None and final.user_db is not None
    assert final.agent_db["order"]["status"] == "paid"
    assert played.agent is not None and played.agent.host.state.db == final.agent_db
    assert played.user is not None and played.user.host.state.db == final.user_db


async def test_every_write_is_followed_by_an_equal_digest_of_both_sides(tmp_path: Path) -> None:
    trace = (await play(tmp_path, PAYING_AGENT, PAYING_USER)).trace
    writes = [event.seq for event in trace.of(ev.ActionApplied)]
    assert len(writes) == 2
    for start, end in zip(writes, [*writes[1:], 10**6], strict=True):
        sides = {check.side for check in trace.of(ev.StateChecked) if start < check.seq < end}
        assert sides == set(Side)
    assert all(check.equal and not check.repaired for check in trace.of(ev.StateChecked))


async def test_events_follow_the_life_of_a_call(tmp_path: Path) -> None:
    trace = (await play(tmp_path, PAYING_AGENT, PAYING_USER)).trace
    order = [event.event for event in trace.events]
    first = [order.index(name) for name in ("bot_ready", "prepared", "initial_state", "call_started", "exit_requested")]
    last = [order.index(name) for name in ("call_ended", "context_pulled", "summary_pulled", "final_state")]
    assert [*first, *last, order.index("recording_written")] == sorted(
        [*first, *last, order.index("recording_written")]
    )
    ended = trace.last(ev.CallEnded)
    assert ended is not None and ended.stop_reason is StopReason.EXIT


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["lockstep", "realtime"])
async def test_write_result_is_given_only_after_the_other_bot_has_answered_the_delta(
    tmp_path: Path, protocol: str
) -> None:
    journal: list[str] = []
    agent = BotScript(writes={2: [("request_payment", {})]}, messages={60: [exit_push()]}, journal=journal)
    slow = BotFaults(late_on={"apply_sync_delta": 0.1})
    await play(tmp_path, agent, BotScript(journal=journal), user_faults=slow, protocol=protocol, realtime=PATIENT)
    before_release = journal[: journal.index("release_action came")]
    assert before_release.count("apply_sync_delta answered") == journal.count("apply_sync_delta came") == 2


async def test_two_runs_leave_equal_bytes(tmp_path: Path) -> None:
    tone = (np.sin(np.arange(320)) * 8000).astype("<i2").tobytes()
    agent = BotScript(
        audio=lambda tick: tone if tick < 9 else None, writes=PAYING_AGENT.writes, messages={20: [exit_push()]}
    )
    runs = [await play(tmp_path / name, agent, PAYING_USER, epoch=name) for name in ("one", "two")]
    texts = [(run.folder / "trace.jsonl").read_text().splitlines()[1:] for run in runs]
    without_wall = [[line for line in lines if '"wall_ms"' not in line] for lines in texts]
    assert len(texts[0]) == len(without_wall[0]) + 1
    assert without_wall[0] == without_wall[1]
    assert (tmp_path / "one/conversation_log.wav").read_bytes() == (tmp_path / "two/conversation_log.wav").read_bytes()


def impulse(at: int) -> bytes:
    frame = np.zeros(320, dtype="<i2")
    frame[at] = 20000
    return frame.tobytes()


async def test_impulse_lands_on_its_sample_in_both_tracks(tmp_path: Path) -> None:
    agent = BotScript(audio=lambda tick: impulse(5) if tick == 3 else None, messages={8: [exit_push()]})
    user = BotScript(audio=lambda tick: impulse(7) if tick == 4 else None)
    played = await play(tmp_path, agent, user)
    assert np.flatnonzero(played.tracks.user_heard).tolist() == [(3 + 1) * 320 + 5]
    assert np.flatnonzero(played.tracks.agent_heard).tolist() == [(4 + 1) * 320 + 7]


async def test_recording_holds_exactly_what_each_bot_was_sent(tmp_path: Path) -> None:
    agent = BotScript(audio=lambda tick: impulse(tick), messages={8: [exit_push()]})
    played = await play(tmp_path, agent, BotScript(audio=lambda tick: impulse(2 * tick)), exit_grace_s=0.6)
    assert played.agent is not None and played.user is not None
    assert b"".join(played.agent.heard) == played.tracks.agent_heard.tobytes()
    assert b"".join(played.user.heard) == played.tracks.user_heard.tobytes()
    written = played.trace.last(ev.RecordingWritten)
    ended = played.trace.last(ev.CallEnded)
    assert written is not None and ended is not None
    assert written.samples == ended.media_ms * 16 == len(played.tracks.user_heard)


async def test_exit_waits_until_the_farewell_was_played(tmp_path: Path) -> None:
    loud = (np.ones(320) * 3000).astype("<i2").tobytes()
    agent = BotScript(
        audio=lambda tick: loud if 5 <= tick < 105 else None,
        messages={5: [exit_push(), speaking(True)], 105: [speaking(False)]},
    )
    played = await play(tmp_path, agent, max_duration_s=30)
    heard = np.flatnonzero(played.tracks.user_heard)
    assert (heard[0], heard[-1]) == (6 * 320, 106 * 320 - 1)
    ended = played.trace.last(ev.CallEnded)
    assert ended is not None and ended.stop_reason is StopReason.EXIT
    assert 2600 <= ended.media_ms <= 2700


async def test_exit_of_a_bot_that_never_stops_talking_is_bounded(tmp_path: Path) -> None:
    agent = BotScript(messages={5: [exit_push(), speaking(True)]})
    trace = (await play(tmp_path, agent, exit_grace_s=1.0)).trace
    ended = trace.last(ev.CallEnded)
    assert ended is not None and (ended.stop_reason, ended.media_ms) == (StopReason.EXIT, 1120)


async def test_user_cannot_end_the_call(tmp_path: Path) -> None:
    trace = (await play(tmp_path, BotScript(), BotScript(messages={1: [exit_push()]}), max_duration_s=2)).trace
    ended = trace.last(ev.CallEnded)
    assert ended is not None and (ended.stop_reason, ended.media_ms) == (StopReason.TIMEOUT, 2000)


async def test_bots_of_8_and_24_khz_understand_each_other(tmp_path: Path) -> None:
    def tone(rate: int):
        wave = (np.sin(2 * np.pi * 440 * np.arange(rate) / rate) * 8000).astype("<i2").reshape(50, -1)
        return lambda tick: wave[tick - 10].tobytes() if 10 <= tick < 60 else None

    agent = BotScript(audio=tone(8000), sample_rate_hz=8000, messages={80: [exit_push()]})
    user = BotScript(audio=tone(24000), sample_rate_hz=24000)
    tracks = (await play(tmp_path, agent, user)).tracks
    for track in (tracks.agent_heard, tracks.user_heard):
        loud = np.flatnonzero(np.abs(track) > 400)
        assert abs((loud[-1] - loud[0]) / 16 - 1000) < 5
        middle = track[loud[0] + 1600 : loud[0] + 1600 + 12800].astype(float)
        spectrum = np.abs(np.fft.rfft(middle * np.hanning(len(middle)))) ** 2
        peak = int(spectrum.argmax())
        assert peak * 16000 / 12800 == pytest.approx(440, abs=1.3)
        assert spectrum.sum() - spectrum[peak - 3 : peak + 4].sum() < 1e-6 * spectrum.sum()
