"""Calls over a line that is not clean, through real sockets: what arrives, what is kept, and when it is over."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from duologue.audio.line import Channel, Line
from duologue.audio.pcm import samples_of
from duologue.audio.recording import read_recording
from duologue.bridge.caller import as_heard
from duologue.bridge.clip import Clip
from duologue.bridge.exit_drain import BotActivity, CallEnd
from duologue.bridge.settings import RealtimeSettings
from duologue.protocol.messages import RtviMessage
from duologue.records import event as ev
from duologue.records.caller import ClipSource, MachineCaller
from duologue.records.conditions import ChannelConditions, LineConditions
from duologue.records.outcome import StopReason
from duologue.records.run_layout import RECORDING, SAID_RECORDING
from duologue.records.scenario import Scenario, SideSpec
from duologue.testing.scripted_bot import BotScript, exit_push, speaking
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
    caller_machine,
)
from tests.bridge.counter_shop import DOMAIN, shop_scenario
from tests.bridge.stage import Played, play

pytestmark = pytest.mark.socket

LOUD = (np.sin(np.arange(320)) * 8000).astype("<i2").tobytes()
STREET: dict[str, Any] = {
    "name": "street",
    "to_agent": {"noise": {"level_dbfs": -30}, "band": {}, "loss": {"rate": 0.1}, "delay_ms": 60},
    "to_user": {"noise": {"kind": "white", "level_dbfs": -35}, "gain_db": -3, "delay_ms": 100},
}
FAREWELL = BotScript(
    audio=lambda tick: LOUD if 5 <= tick < 25 else None,
    messages={5: [exit_push(), speaking(True)], 25: [speaking(False)]},
)
USER = BotScript(audio=lambda tick: LOUD if 8 <= tick < 20 else None)


def over(scenario: Scenario | None = None, **line: Any) -> Scenario:
    conditions = LineConditions.model_validate({"name": "test", **line})
    return (scenario or shop_scenario()).model_copy(update={"line": conditions})


def channel(**conditions: Any) -> Channel:
    return Channel(ChannelConditions.model_validate(conditions), "key")


def files_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def ended(played: Played) -> ev.CallEnded:
    found = played.trace.last(ev.CallEnded)
    assert found is not None
    return found


async def test_every_bot_hears_what_the_line_makes_of_the_other(tmp_path: Path) -> None:
    played = await play(tmp_path, FAREWELL, USER, scenario=over(**STREET), epoch="e")
    said, line = read_recording(tmp_path / SAID_RECORDING), Line(LineConditions.model_validate(STREET), "e")
    frames = zip(said.agent_heard.reshape(-1, 320), said.user_heard.reshape(-1, 320), strict=True)
    expected = [(line.to_agent.carry(one.tobytes()), line.to_user.carry(other.tobytes())) for one, other in frames]
    assert played.agent is not None and played.user is not None
    assert played.agent.heard == [to_agent for to_agent, _ in expected]
    assert played.user.heard == [to_user for _, to_user in expected]
    assert b"".join(played.agent.heard) == played.tracks.agent_heard.tobytes()
    assert b"".join(played.user.heard) == played.tracks.user_heard.tobytes()


async def test_what_was_said_is_kept_as_a_clean_call_records_it(tmp_path: Path) -> None:
    clean = await play(tmp_path / "clean", FAREWELL, USER)
    noisy = await play(tmp_path / "noisy", FAREWELL, USER, scenario=over(**STREET))
    said = read_recording(noisy.folder / SAID_RECORDING)
    shared = len(clean.tracks.user_heard)
    assert np.array_equal(said.user_heard[:shared], clean.tracks.user_heard)
    assert np.array_equal(said.agent_heard[:shared], clean.tracks.agent_heard)
    assert not said.user_heard[shared:].any()
    written = noisy.trace.last(ev.RecordingWritten)
    assert written is not None
    assert (written.path, written.said_path) == (RECORDING, SAID_RECORDING)
    assert written.samples == len(said.user_heard) == ended(noisy).media_ms * 16


async def test_clean_call_keeps_one_recording_and_stores_no_line(tmp_path: Path) -> None:
    played = await play(tmp_path, FAREWELL, USER)
    assert files_in(tmp_path) == [RECORDING, "trace.jsonl"]
    text = (tmp_path / "trace.jsonl").read_text(encoding="utf-8")
    assert "said_" not in text and '"line"' not in text
    assert played.trace.header.scenario.line.is_clean


async def test_equal_calls_over_a_bad_line_leave_equal_bytes(tmp_path: Path) -> None:
    runs = [await play(tmp_path / name, FAREWELL, USER, scenario=over(**STREET)) for name in ("one", "two")]
    other = await play(tmp_path / "three", FAREWELL, USER, scenario=over(**STREET), epoch="epoch-2")
    lines = [(run.folder / "trace.jsonl").read_text(encoding="utf-8").splitlines() for run in runs]
    one, two = ([line for line in each if '"wall_ms"' not in line] for each in lines)
    assert one == two
    for name in (RECORDING, SAID_RECORDING):
        assert (runs[0].folder / name).read_bytes() == (runs[1].folder / name).read_bytes()
    assert (runs[0].folder / RECORDING).read_bytes() != (other.folder / RECORDING).read_bytes()
    assert (runs[0].folder / SAID_RECORDING).read_bytes() == (other.folder / SAID_RECORDING).read_bytes()


@pytest.mark.parametrize("delay_ms", [100, 1000])
async def test_call_ends_after_the_last_words_have_arrived(tmp_path: Path, delay_ms: int) -> None:
    direct = await play(tmp_path / "direct", FAREWELL, max_duration_s=10)
    far = await play(tmp_path / "far", FAREWELL, max_duration_s=10, scenario=over(to_user={"delay_ms": delay_ms}))
    assert ended(far).stop_reason is ended(direct).stop_reason is StopReason.EXIT
    assert ended(far).media_ms == ended(direct).media_ms + delay_ms
    heard = np.flatnonzero(far.tracks.user_heard)
    late = delay_ms * 16
    assert np.array_equal(heard, np.flatnonzero(direct.tracks.user_heard) + late)
    assert far.user is not None
    assert np.flatnonzero(samples_of(b"".join(far.user.heard)))[-1] == 26 * 320 - 1 + late


async def test_noise_does_not_keep_a_call_open(tmp_path: Path) -> None:
    direct = await play(tmp_path / "direct", FAREWELL, max_duration_s=10)
    noisy = await play(
        tmp_path / "noisy", FAREWELL, max_duration_s=10, scenario=over(both={"noise": {"level_dbfs": -20}})
    )
    assert ended(noisy).media_ms == ended(direct).media_ms


@pytest.mark.slow
async def test_bad_line_in_real_time_is_the_same_line(tmp_path: Path) -> None:
    played = await play(
        tmp_path,
        FAREWELL,
        USER,
        scenario=over(**STREET),
        epoch="e",
        protocol="realtime",
        realtime=RealtimeSettings(max_lag_ms=5000, max_late_share=1.0, jitter_ms=300),
    )
    said, line = read_recording(tmp_path / SAID_RECORDING), Line(LineConditions.model_validate(STREET), "e")
    carried = [line.to_user.carry(frame.tobytes()) for frame in said.user_heard.reshape(-1, 320)]
    assert said.user_heard.any()
    assert b"".join(carried) == played.tracks.user_heard.tobytes()


def test_caller_that_left_is_waited_for_until_its_words_have_arrived() -> None:
    near, far = (CallEnd(max_ms=9000, exit_grace_ms=5000, drain_ms=1000, to_agent_ms=late) for late in (0, 300))
    for end in (near, far):
        end.caller_left(0)
    quiet = BotActivity()
    assert [end.decide(1000, quiet, quiet) for end in (near, far)] == [StopReason.CALLER_DONE, None]
    assert far.decide(1300, quiet, quiet) is StopReason.CALLER_DONE


def test_agent_is_audible_when_its_voice_arrives_and_speaks_until_then() -> None:
    line, seen = channel(delay_ms=40, noise={"level_dbfs": -20}), []
    for sound in (LOUD, bytes(640), bytes(640), bytes(640)):
        line.carry(sound)
        heard = as_heard(BotActivity(), line)
        seen.append((heard.is_audible, heard.is_busy))
    assert seen == [(False, True), (False, True), (True, True), (False, False)]


def test_voice_that_is_lost_or_too_soft_is_not_heard() -> None:
    soft = channel(gain_db=-60)
    soft.carry(LOUD)
    assert not as_heard(BotActivity(is_audible=True), soft).is_audible
    lossy, seen = channel(loss={"rate": 0.5}), []
    for _ in range(100):
        arrives = any(lossy.carry(LOUD))
        seen.append(as_heard(BotActivity(is_audible=True), lossy).is_audible is arrives)
    assert all(seen)


def test_activity_on_a_clean_line_is_what_it_is() -> None:
    activity = BotActivity(is_audible=True)
    assert as_heard(activity, channel()) is activity


class Listener:
    """Says one thing once the agent's first turn is over, hangs up, and keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[Happening] = []

    def take(self, happening: Happening) -> Sequence[Move]:
        if not isinstance(happening, TimePassed):
            self.told.append(happening)
        return (PlayClip("bye", 0), HangUp()) if isinstance(happening, AgentStopped) else ()


@pytest.fixture
def listener(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Awaitable[tuple[Played, list[Happening]]]]]:
    """Play a call of a machine over a line; returns the call and what the machine was told."""
    monkeypatch.setattr(CALLER_MACHINES, "_entries", {})
    made: list[Listener] = []

    @caller_machine(DOMAIN, "listener")
    def build(setup: MachineSetup) -> Listener:
        made.append(Listener())
        return made[-1]

    agent = BotScript(
        audio=lambda tick: LOUD if 5 <= tick < 25 else None,
        messages={
            5: [speaking(True)],
            10: [RtviMessage("bot-tts-text", data={"text": "Hello."})],
            25: [speaking(False)],
        },
    )

    async def call(folder: Path, **line: Any) -> tuple[Played, list[Happening]]:
        caller = MachineCaller(machine="listener", clips={"bye": ClipSource(text="Bye.")})
        scenario = shop_scenario(
            caller=caller,
            user=SideSpec(prompt=""),
            has_user_state=False,
            user_needs_tools=False,
            initialization_actions=(),
        )
        scenario = over(scenario, **line) if line else scenario
        clips = {"bye": Clip(LOUD * 10, "Bye.")}
        played = await play(folder, agent, scenario=scenario, clips=clips, max_duration_s=10)
        return played, made[-1].told

    yield call


def times(told: Sequence[Happening]) -> list[tuple[type, int]]:
    return [(type(item), item.at_ms) for item in told]


async def test_machine_is_told_what_it_hears_when_it_arrives(tmp_path: Path, listener: Any) -> None:
    _, direct = await listener(tmp_path / "direct")
    _, far = await listener(tmp_path / "far", to_user={"delay_ms": 200})
    assert [kind for kind, _ in times(direct)] == [AgentStarted, WordsHeard, AgentStopped]
    assert times(far) == [(kind, at_ms + 200) for kind, at_ms in times(direct)]
    stopped = [item for item in far if isinstance(item, AgentStopped)]
    assert [item.ended_ms for item in stopped] == [26 * 20 + 200]


async def test_noise_starts_and_ends_no_turn_of_the_agent(tmp_path: Path, listener: Any) -> None:
    _, direct = await listener(tmp_path / "direct")
    _, noisy = await listener(tmp_path / "noisy", both={"noise": {"level_dbfs": -20}})
    assert times(noisy) == times(direct)


async def test_caller_that_hangs_up_is_heard_to_its_last_word(tmp_path: Path, listener: Any) -> None:
    direct, _ = await listener(tmp_path / "direct")
    far, _ = await listener(tmp_path / "far", to_agent={"delay_ms": 400})
    assert ended(far).stop_reason is ended(direct).stop_reason is StopReason.CALLER_DONE
    assert ended(far).media_ms == ended(direct).media_ms + 400
    for played in (direct, far):
        assert np.count_nonzero(played.tracks.agent_heard) == np.count_nonzero(samples_of(LOUD * 10))
    said = read_recording(far.folder / SAID_RECORDING).agent_heard
    assert np.flatnonzero(far.tracks.agent_heard)[0] == np.flatnonzero(said)[0] + 400 * 16
