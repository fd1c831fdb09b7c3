from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from duologue.bridge.call import Call, CallSettings
from duologue.bridge.caller import PlayedCaller
from duologue.bridge.clip import Clip
from duologue.bridge.exit_drain import BotActivity
from duologue.bridge.recording_machine import RecordingMachine
from duologue.clock import SystemClock
from duologue.records import event as ev
from duologue.records.action import Side
from duologue.records.caller import FrozenUtterance, RecordedCaller, UtteranceStart
from duologue.records.outcome import StopReason
from duologue.records.scenario import Scenario, SideSpec
from duologue.testing.scripted_bot import BotScript, exit_push, speaking
from tests.bridge.counter_shop import shop_scenario
from tests.bridge.stage import Played, open_trace, play

LOUD = (np.ones(320) * 3000).astype("<i2").tobytes()
AFTER_TURN = UtteranceStart(after_turn=True)


@dataclass(frozen=True)
class Recording:
    """A clip, and when it is played."""

    clip: Clip
    start: UtteranceStart


def recording(ticks: int = 10, start: UtteranceStart = AFTER_TURN, transcript: str = "") -> Recording:
    return Recording(Clip(LOUD * ticks, transcript), start)


def caller(*recordings: Recording) -> PlayedCaller:
    machine = RecordingMachine([item.start for item in recordings], gap_ms=800, patience_ms=5000)
    return PlayedCaller("shop__1", machine, clips_of(*recordings), gap_ms=800, drain_ms=3000)


def clips_of(*recordings: Recording) -> dict[str, Clip]:
    return {str(number): item.clip for number, item in enumerate(recordings, start=1)}


def voice(*spans: tuple[int, int]) -> Callable[[int], BotActivity]:
    """An agent that is heard within each of these spans of milliseconds."""
    return lambda t_ms: BotActivity(is_audible=any(start <= t_ms < end for start, end in spans))


def starts(subject: PlayedCaller, agent: Callable[[int], BotActivity], until_ms: int) -> list[int]:
    """The times at which utterances start."""
    found = []
    for t_ms in range(0, until_ms, 20):
        _, events = subject.step(t_ms, agent(t_ms))
        found += [t_ms for event in events if isinstance(event, ev.UtterancePlayed)]
    return found


def test_first_utterance_waits_for_a_moment_of_silence() -> None:
    assert starts(caller(recording()), voice(), 2000) == [780]


def test_first_utterance_waits_until_a_greeting_is_over() -> None:
    assert starts(caller(recording()), voice((100, 3000)), 6000) == [3780]


def test_next_utterance_starts_once_the_answer_is_over() -> None:
    assert starts(caller(recording(), recording()), voice((2000, 3000)), 6000) == [780, 3780]


def test_pause_within_an_answer_is_not_its_end() -> None:
    assert starts(caller(recording(), recording()), voice((2000, 3000), (3700, 4000)), 8000) == [780, 4780]


def test_agent_that_thinks_or_has_a_tool_running_keeps_the_turn() -> None:
    def agent(t_ms: int) -> BotActivity:
        return BotActivity(is_thinking=1000 <= t_ms < 4000, open_tools={"1"} if 4000 <= t_ms < 9000 else set())

    assert starts(caller(recording(), recording()), agent, 12_000) == [780, 9780]


def test_silent_agent_loses_its_turn_when_patience_ends() -> None:
    assert starts(caller(recording(), recording()), voice(), 12_000) == [780, 780 + 200 + 4980]


def test_media_time_is_exact_and_one_utterance_waits_for_the_other() -> None:
    subject = caller(recording(10, UtteranceStart(at_ms=300)), recording(10, UtteranceStart(at_ms=400)))
    assert starts(subject, voice((0, 5000)), 2000) == [300, 500]


def test_media_time_zero_is_the_first_tick() -> None:
    assert starts(caller(recording(10, UtteranceStart(at_ms=0))), voice(), 200) == [0]


def test_barge_in_comes_at_its_offset_over_the_voice() -> None:
    subject = caller(recording(), recording(10, UtteranceStart(over_ms=600)))
    assert starts(subject, voice((2000, 9000)), 9000) == [780, 2600]


def test_barge_in_over_an_answer_that_is_too_short_is_an_ordinary_turn() -> None:
    subject = caller(recording(), recording(10, UtteranceStart(over_ms=3000)))
    assert starts(subject, voice((2000, 2400)), 9000) == [780, 3180]


def test_barge_in_waits_for_a_voice_and_not_for_tools() -> None:
    def agent(t_ms: int) -> BotActivity:
        return BotActivity(open_tools={"1"} if 1200 <= t_ms < 1400 else set(), is_audible=3000 <= t_ms < 8000)

    subject = caller(recording(), recording(10, UtteranceStart(over_ms=500)))
    assert starts(subject, agent, 9000) == [780, 3500]


def test_caller_hangs_up_after_the_last_answer_and_not_before() -> None:
    subject, agent = caller(recording()), voice((2000, 3000))
    hung_up = []
    for t_ms in range(0, 10_000, 20):
        subject.step(t_ms, agent(t_ms))
        hung_up += [t_ms] if subject.has_hung_up else []
    assert hung_up[0] == 3000 + 5000 - 20


def test_nothing_starts_any_more_when_the_call_is_ending() -> None:
    subject = caller(recording())
    steps = [subject.step(t_ms, BotActivity(), may_start=False) for t_ms in range(0, 3000, 20)]
    assert not any(any(sound) or events for sound, events in steps)


def test_words_are_spread_over_the_sound_in_order() -> None:
    words = recording(20, transcript="a very long transcript").clip.words()
    assert "".join(words[tick] for tick in sorted(words)) == "a very long transcript "
    assert max(words) == 19
    assert len(words) == 4


def test_more_words_than_ticks_are_all_said() -> None:
    words = recording(2, transcript="one two three four").clip.words()
    assert "".join(words[tick] for tick in sorted(words)).split() == ["one", "two", "three", "four"]


@pytest.mark.parametrize("samples", [320, 321, 639])
def test_last_tick_is_filled_with_silence(samples: int) -> None:
    item = Clip(b"\x01\x00" * samples)
    sound = b"".join(item.tick(number) for number in range(item.ticks))
    assert sound == b"\x01\x00" * samples + bytes(-2 * samples % 640)


def recorded_scenario(*items: Recording) -> Scenario:
    caller_side = tuple(FrozenUtterance(text="x", start=item.start, transcript=item.clip.transcript) for item in items)
    return shop_scenario(
        user=SideSpec(prompt=""),
        has_user_state=False,
        user_needs_tools=False,
        initialization_actions=(),
        caller=RecordedCaller(utterances=caller_side),
    )


async def played(folder: Path, agent: BotScript, *items: Recording, **settings: Any) -> Played:
    return await play(folder, agent, scenario=recorded_scenario(*items), clips=clips_of(*items), **settings)


def end_of(call: Played) -> tuple[StopReason, int]:
    ended = call.trace.last(ev.CallEnded)
    assert ended is not None, [event for event in call.trace.events if isinstance(event, ev.Fault)]
    return ended.stop_reason, ended.media_ms


@pytest.mark.socket
async def test_recording_reaches_the_agent_and_the_left_track_on_its_sample(tmp_path: Path) -> None:
    item = recording(5, UtteranceStart(at_ms=200), "hello there")
    call = await played(tmp_path, BotScript(), item, max_duration_s=30, caller_patience_s=1)
    assert call.agent is not None
    assert b"".join(call.agent.heard) == call.tracks.agent_heard.tobytes()
    heard = np.flatnonzero(call.tracks.agent_heard)
    assert (heard[0], heard[-1]) == (200 * 16, 300 * 16 - 1)
    assert not call.tracks.user_heard.any()


@pytest.mark.socket
async def test_silent_agent_ends_in_bounded_media_time_without_a_user_bot(tmp_path: Path) -> None:
    call = await played(tmp_path, BotScript(), recording(50), max_duration_s=60)
    assert end_of(call) == (StopReason.CALLER_DONE, 780 + 1000 + 5000)
    assert call.user is None
    assert {event.side for event in call.trace.of(ev.BotReady)} == {Side.AGENT}
    assert {event.side for event in call.trace.of(ev.SummaryPulled)} == {Side.AGENT}


@pytest.mark.socket
async def test_nobody_kicks_off_a_call_of_a_recorded_caller(tmp_path: Path) -> None:
    call = await played(tmp_path, BotScript(), recording(), max_duration_s=30, caller_patience_s=1)
    started = call.trace.last(ev.CallStarted)
    assert started is not None and started.kick_off == ""
    assert call.agent is not None and call.agent.texts == []


@pytest.mark.socket
async def test_trace_tells_which_utterance_was_played_and_its_words(tmp_path: Path) -> None:
    item = recording(50, UtteranceStart(at_ms=400), "my heating is cold")
    trace = (await played(tmp_path, BotScript(), item, max_duration_s=30, caller_patience_s=1)).trace
    (begun,) = trace.of(ev.UtterancePlayed)
    assert (begun.t_ms, begun.index, begun.duration_ms) == (400, 0, 1000)
    words = trace.of(ev.SpokenText)
    assert "".join(word.text for word in words).strip() == "my heating is cold"
    assert all(word.side is Side.USER and 400 <= word.t_ms < 1400 for word in words)
    assert [(event.t_ms, event.speaking) for event in trace.of(ev.BotSpeaking)] == [(400, True), (1400, False)]


@pytest.mark.socket
async def test_exit_of_the_agent_ends_the_call_and_the_caller_says_no_more(tmp_path: Path) -> None:
    agent = BotScript(messages={10: [exit_push()]})
    call = await played(tmp_path, agent, recording(), recording(), max_duration_s=30)
    assert end_of(call) == (StopReason.EXIT, 220 + 500)
    assert call.trace.of(ev.UtterancePlayed) == []


@pytest.mark.socket
async def test_barge_in_overlaps_the_agent_on_the_recording(tmp_path: Path) -> None:
    agent = BotScript(
        audio=lambda tick: LOUD if 60 <= tick < 160 else None, messages={60: [speaking(True)], 160: [speaking(False)]}
    )
    items = recording(10), recording(20, UtteranceStart(over_ms=500))
    call = await played(tmp_path, agent, *items, max_duration_s=30, caller_patience_s=1)
    voice_starts = np.flatnonzero(call.tracks.user_heard)[0]
    second = call.trace.of(ev.UtterancePlayed)[1]
    assert second.t_ms * 16 == voice_starts + 500 * 16
    assert call.tracks.agent_heard[second.t_ms * 16] != 0


async def test_recordings_must_fit_the_scenario(tmp_path: Path) -> None:
    scenario = recorded_scenario(recording())
    with pytest.raises(ValueError, match="do not fit its caller, a recording"):
        settings = CallSettings("ws://127.0.0.1:1", "ws://127.0.0.1:1", 3.0)
        trace = open_trace(tmp_path, scenario)
        trace.close()
        Call(scenario, settings, trace, tmp_path, SystemClock(), clips=clips_of(recording(), recording()))
