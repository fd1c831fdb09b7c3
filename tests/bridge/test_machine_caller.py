"""What a machine is told, and what becomes of its moves."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest

from duologue.bridge.caller import PlayedCaller, build_player
from duologue.bridge.clip import Clip
from duologue.bridge.exit_drain import BotActivity
from duologue.bridge.settings import CallSettings
from duologue.errors import ScenarioError
from duologue.records import event as ev
from duologue.records.caller import ClipSource, MachineCaller
from duologue.toolkit.caller_machine import (
    CALLER_MACHINES,
    AgentStarted,
    AgentStopped,
    ClipEnded,
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

LOUD = (np.ones(320) * 3000).astype("<i2").tobytes()
CLIPS = {"short": Clip(LOUD * 5), "long": Clip(LOUD * 100)}
NOBODY: Callable[[int], BotActivity] = lambda t_ms: BotActivity()  # noqa: E731


class Scripted:
    """Makes its moves at their times, and keeps what it is told."""

    def __init__(self, moves: Mapping[int, Sequence[Move]]) -> None:
        self.told: list[Happening] = []
        self._moves = moves

    def take(self, happening: Happening) -> Sequence[Move]:
        self.told.append(happening)
        return self._moves.get(happening.at_ms, ()) if isinstance(happening, TimePassed) else ()

    @property
    def news(self) -> list[Happening]:
        return [happening for happening in self.told if not isinstance(happening, TimePassed)]


def caller(machine: Scripted) -> PlayedCaller:
    return PlayedCaller("shop__1", machine, CLIPS, gap_ms=800, drain_ms=3000, names_clips=True)


def voice(*spans: tuple[int, int]) -> Callable[[int], BotActivity]:
    return lambda t_ms: BotActivity(is_audible=any(start <= t_ms < end for start, end in spans))


def starts(machine: Scripted, agent: Callable[[int], BotActivity] = NOBODY, until_ms: int = 5000) -> list[object]:
    """Names and times of what is played, and the time at which the caller is gone."""
    subject = caller(machine)
    found: list[object] = []
    for t_ms in range(0, until_ms, 20):
        _, events = subject.step(t_ms, agent(t_ms))
        found += [(event.clip, t_ms) for event in events if isinstance(event, ev.UtterancePlayed)]
        if subject.has_hung_up:
            return [*found, t_ms]
    return found


def test_moves_are_made_in_their_order_and_at_their_times() -> None:
    moves = {100: (PlayClip("short", 100), PlayClip("short", 0), PlayClip("long", 900), HangUp())}
    assert starts(Scripted(moves)) == [("short", 100), ("short", 200), ("long", 900), 2900]


def test_machine_is_told_nothing_more_once_it_hangs_up() -> None:
    machine = Scripted({100: (PlayClip("long", 100), HangUp())})
    starts(machine)
    assert machine.told[-1] == TimePassed(100, is_agent_busy=False, is_agent_audible=False)


def test_agent_may_finish_what_it_has_under_way_for_a_while() -> None:
    assert starts(Scripted({100: (HangUp(),)}), voice((0, 700))) == [700]
    assert starts(Scripted({100: (HangUp(),)}), lambda t_ms: BotActivity(open_tools={"1"})) == [3100]


def test_turn_of_the_agent_is_told_from_its_voice_to_the_end_of_a_gap() -> None:
    machine = Scripted({})
    starts(machine, voice((100, 600), (1200, 1300)))
    assert machine.news == [AgentStarted(100), AgentStopped(2080, ended_ms=1300)]


def test_tool_that_runs_keeps_the_turn() -> None:
    machine = Scripted({})

    def agent(t_ms: int) -> BotActivity:
        return BotActivity(is_audible=100 <= t_ms < 600, open_tools={"1"} if 600 <= t_ms < 3000 else set())

    starts(machine, agent)
    assert machine.news == [AgentStarted(100), AgentStopped(3780, ended_ms=600)]


def test_agent_that_is_quiet_when_a_clip_ends_has_had_its_turn() -> None:
    machine = Scripted({400: (PlayClip("short", 400),)})
    starts(machine, voice((100, 480), (600, 700)))
    assert machine.news[:4] == [
        AgentStarted(100),
        ClipEnded(500, "short"),
        AgentStopped(500, ended_ms=480),
        AgentStarted(600),
    ]


def test_words_come_with_the_next_step_and_time_comes_last() -> None:
    machine = Scripted({})
    subject = caller(machine)
    subject.hear("Hello ")
    subject.step(0, BotActivity(is_audible=True))
    assert machine.told == [
        AgentStarted(0),
        WordsHeard(0, "Hello "),
        TimePassed(0, is_agent_busy=True, is_agent_audible=True),
    ]


def test_call_that_is_ending_asks_no_machine() -> None:
    machine = Scripted({0: (PlayClip("short", 0),)})
    sound, events = caller(machine).step(0, BotActivity(), may_start=False)
    assert (any(sound), events, machine.told) == (False, [], [])


def test_move_that_is_not_yet_due_is_not_made_once_the_call_is_ending() -> None:
    subject = caller(Scripted({0: (PlayClip("short", 100), HangUp())}))
    subject.step(0, BotActivity())
    for t_ms in range(20, 400, 20):
        sound, events = subject.step(t_ms, BotActivity(), may_start=False)
        assert (any(sound), events, subject.has_hung_up) == (False, [], False)


def test_unknown_clip_is_named_with_its_scenario() -> None:
    with pytest.raises(ScenarioError, match="shop__1: its caller plays the clip 'loud', but has only long, short"):
        caller(Scripted({0: (PlayClip("loud", 0),)})).step(0, BotActivity())


def test_machine_is_made_of_settings_lengths_and_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CALLER_MACHINES, "_entries", {})
    setups: list[MachineSetup] = []

    @caller_machine(DOMAIN, "noted")
    def build(setup: MachineSetup) -> Scripted:
        setups.append(setup)
        return Scripted({})

    kind = MachineCaller(machine="noted", clips={"a": ClipSource(text="A.")}, settings={"limit": 3})
    scenario = shop_scenario(caller=kind, has_user_state=False, user_needs_tools=False)
    assert build_player(scenario, {"a": Clip(LOUD * 3)}, CallSettings("", "", 3.0), "epoch-1") is not None
    assert setups == [MachineSetup({"limit": 3}, {"a": 60}, "epoch-1")]
