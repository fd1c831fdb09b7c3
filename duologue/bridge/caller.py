"""Callers as parties of a call, whoever they are: their sound, tick by tick, and when they have hung up. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Protocol

from duologue.audio.line import Channel
from duologue.bridge.clip import SILENT_TICK, Clip
from duologue.bridge.exit_drain import QUIET_BELOW_DBFS, BotActivity
from duologue.bridge.recording_machine import RecordingMachine
from duologue.bridge.settings import CallSettings
from duologue.protocol.messages import TICK_MS
from duologue.records.action import Side
from duologue.records.caller import LiveCaller, MachineCaller, RecordedCaller
from duologue.records.event import BotSpeaking, Event, SpokenText, UtterancePlayed
from duologue.records.scenario import Scenario
from duologue.toolkit.caller_machine import (
    AgentStarted,
    AgentStopped,
    CallerMachine,
    ClipEnded,
    HangUp,
    Happening,
    Move,
    PlayClip,
    TimePassed,
    WordsHeard,
    build_machine,
    unknown_clip,
)


class Caller(Protocol):
    """What a call asks of its caller."""

    @property
    def has_hung_up(self) -> bool:
        """Whether the caller is gone."""

    @property
    def activity(self) -> BotActivity:
        """What it has under way that the end of a call waits for."""

    def hear(self, text: str) -> None:
        """Take words of the agent, by its own account, into the next step."""

    def step(self, t_ms: int, agent: BotActivity, *, may_start: bool = True) -> tuple[bytes, list[Event]]:
        """Return the sound of the tick that begins at ``t_ms``, and the events that belong to its beginning.

        Args:
            t_ms: media time.
            agent: what the agent has under way, as :func:`as_heard`; what arrives of its sound is heard in this same
                tick.
            may_start: False once the call is about to end, so that nothing further is said.
        """
        ...


class PlayedCaller:
    """Plays the clips that a machine asks for, one after the other.

    A caller that hangs up is gone once its last words have arrived and the agent has nothing under way, or ``drain_ms``
    after they have.

    Args:
        scenario_name: for errors.
        machine: decides what is played.
        clips: what can be played, by name.
        gap_ms: how long the agent is quiet before its turn counts as over.
        drain_ms: how long the agent may finish what it has under way when the caller hangs up.
        line_ms: how long the caller's sound is under way to the agent.
        names_clips: whether the trace tells the names of the clips.
    """

    def __init__(
        self,
        scenario_name: str,
        machine: CallerMachine,
        clips: Mapping[str, Clip],
        *,
        gap_ms: int,
        drain_ms: int,
        line_ms: int = 0,
        names_clips: bool = False,
    ) -> None:
        self._scenario_name = scenario_name
        self._machine = machine
        self._clips = clips
        self._ear = _Ear(gap_ms)
        self._drain_ms = drain_ms
        self._line_ms = line_ms
        self._names_clips = names_clips
        self._moves: deque[Move] = deque()
        self._n_played = 0
        self._clip_name = ""
        self._playing: Iterator[tuple[bytes, list[Event]]] | None = None
        self._left_at_ms: int | None = None
        self._has_hung_up = False

    @property
    def has_hung_up(self) -> bool:
        """Whether the caller is gone."""
        return self._has_hung_up

    @property
    def activity(self) -> BotActivity:
        """Nothing: its words are not waited for."""
        return BotActivity()

    def hear(self, text: str) -> None:
        """Take words of the agent into the next step."""
        self._ear.words.append(text)

    def step(self, t_ms: int, agent: BotActivity, *, may_start: bool = True) -> tuple[bytes, list[Event]]:
        """Return the sound of the tick that begins at ``t_ms``, and the events that belong to its beginning.

        Raises:
            ScenarioError: the machine plays a clip that there is not.
        """
        played = next(self._playing, None) if self._playing is not None else None
        events: list[Event] = []
        happenings: list[Happening] = []
        if self._playing is not None and played is None:
            self._playing = None
            events.append(BotSpeaking(side=Side.USER, speaking=False))
            happenings.append(ClipEnded(t_ms, self._clip_name))
        happenings += self._ear.listen(t_ms, agent, has_spoken=bool(happenings))
        if may_start:
            self._tell(happenings)
        if played is not None:
            return played
        if may_start and self._left_at_ms is None and self._moves:
            self._move(t_ms)
        if self._left_at_ms is not None:
            arrived_ms = t_ms - self._left_at_ms - self._line_ms
            self._has_hung_up = arrived_ms >= 0 and (not _is_occupied(agent) or arrived_ms >= self._drain_ms)
        if self._playing is None:
            return SILENT_TICK, events
        sound, begun = next(self._playing)
        return sound, [*events, *begun]

    def _tell(self, happenings: list[Happening]) -> None:
        for happening in happenings:
            if self._left_at_ms is not None or any(isinstance(move, HangUp) for move in self._moves):
                return
            self._moves.extend(self._machine.take(happening))

    def _move(self, t_ms: int) -> None:
        """Make the next move if it is due."""
        move = self._moves[0]
        if isinstance(move, HangUp):
            self._left_at_ms = t_ms
        elif move.at_ms <= t_ms:
            self._start(move)
            self._moves.popleft()

    def _start(self, move: PlayClip) -> None:
        if move.name not in self._clips:
            raise unknown_clip(self._scenario_name, move.name, self._clips)
        self._clip_name = move.name
        self._playing = self._play(self._clips[move.name], self._n_played, move.name if self._names_clips else "")
        self._n_played += 1

    @staticmethod
    def _play(clip: Clip, index: int, name: str) -> Iterator[tuple[bytes, list[Event]]]:
        words = clip.words()
        opening: list[Event] = [
            UtterancePlayed(index=index, duration_ms=clip.duration_ms, clip=name),
            BotSpeaking(side=Side.USER, speaking=True),
        ]
        for number in range(clip.ticks):
            spoken: list[Event] = [SpokenText(side=Side.USER, text=words[number])] if number in words else []
            yield clip.tick(number), [*(opening if number == 0 else []), *spoken]


class _Ear:
    """Turns what an agent has under way into what a machine is told."""

    def __init__(self, gap_ms: int) -> None:
        self.words: list[str] = []
        self._gap_ms = gap_ms
        self._quiet_ms = 0
        self._ended_ms: int | None = None

    def listen(self, t_ms: int, agent: BotActivity, *, has_spoken: bool) -> list[Happening]:
        """Return what happened up to the tick that begins at ``t_ms``.

        An agent that is quiet when the caller ``has_spoken`` has had its turn: what it says next answers that.
        """
        found: list[Happening] = []
        is_busy = _is_occupied(agent)
        self._quiet_ms = 0 if is_busy else self._quiet_ms + TICK_MS
        if agent.is_audible:
            if self._ended_ms is None:
                found.append(AgentStarted(t_ms))
            self._ended_ms = t_ms + TICK_MS
        found += [WordsHeard(t_ms, text) for text in self.words]
        self.words.clear()
        is_over = self._quiet_ms >= self._gap_ms or (has_spoken and not is_busy)
        if self._ended_ms is not None and is_over:
            found.append(AgentStopped(t_ms, self._ended_ms))
            self._ended_ms = None
        return [*found, TimePassed(t_ms, is_busy, agent.is_audible)]


def as_heard(activity: BotActivity, channel: Channel) -> BotActivity:
    """Return what a side has under way as the listener at the end of ``channel`` takes it.

    Its voice is audible when it arrives, unless it is lost or too soft there; noise is no voice. As long as some of it
    is under way, the side still speaks.
    """
    if channel.is_clean:
        return activity
    is_under_way = channel.loudest_dbfs >= QUIET_BELOW_DBFS
    return replace(
        activity,
        is_audible=channel.arrived_dbfs >= QUIET_BELOW_DBFS,
        is_speaking=activity.is_speaking or is_under_way,
    )


def _is_occupied(agent: BotActivity) -> bool:
    return agent.is_busy or bool(agent.open_tools)


def build_player(
    scenario: Scenario, clips: Mapping[str, Clip], settings: CallSettings, seed: str
) -> PlayedCaller | None:
    """Return the caller that plays the clips of a scenario; None when a bot or a person holds its side.

    Args:
        scenario: says who calls.
        clips: the sound of everything that its caller can play, by name.
        settings: the call's.
        seed: what everything random about the caller is drawn from.

    Raises:
        ValueError: the clips are not those of the caller.
        RegistryError: the domain does not have the caller's machine.
    """
    caller = scenario.caller
    if clips.keys() != caller.sounds.keys():
        raise ValueError(f"{scenario.name}: the clips {sorted(clips)} do not fit its caller, {caller.what}")
    gap_ms = round(settings.caller_gap_s * 1000)
    machine: CallerMachine
    match caller:
        case LiveCaller():
            return None
        case RecordedCaller():
            starts = [utterance.start for utterance in caller.utterances]
            patience_ms = round(settings.caller_patience_s * 1000)
            machine = RecordingMachine(starts, gap_ms=gap_ms, patience_ms=patience_ms)
        case MachineCaller():
            machine = build_machine(scenario, caller, {name: clip.duration_ms for name, clip in clips.items()}, seed)
    drain_ms = round(settings.drain_s * 1000)
    names_clips = not caller.is_fixed
    line_ms = scenario.line.to_agent.delay_ms
    return PlayedCaller(
        scenario.name, machine, clips, gap_ms=gap_ms, drain_ms=drain_ms, line_ms=line_ms, names_clips=names_clips
    )
