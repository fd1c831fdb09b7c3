"""A caller that is a list of recordings: which sound belongs to which tick, and when the caller is through. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from duologue.bridge.exit_drain import BotActivity
from duologue.protocol.messages import TICK_MS, TICK_SAMPLES
from duologue.records.action import Side
from duologue.records.caller import UtteranceStart
from duologue.records.event import BotSpeaking, Event, SpokenText, UtterancePlayed

_TICK_BYTES = 2 * TICK_SAMPLES
_SILENCE = bytes(_TICK_BYTES)


@dataclass(frozen=True, slots=True)
class Recording:
    """One utterance as it is played.

    Args:
        pcm: 16 kHz mono s16; the last tick is filled up with silence.
        start: when it is played.
        transcript: the words in it, spread over it for the trace; empty when nobody knows them.
    """

    pcm: bytes
    start: UtteranceStart
    transcript: str = ""

    @property
    def ticks(self) -> int:
        """Length in ticks."""
        return -(-len(self.pcm) // _TICK_BYTES)

    def tick(self, number: int) -> bytes:
        """Return the sound of one tick."""
        return self.pcm[number * _TICK_BYTES : (number + 1) * _TICK_BYTES].ljust(_TICK_BYTES, b"\0")

    def words(self) -> dict[int, str]:
        """Return the words by the tick in which each is over, spread by their length."""
        words = self.transcript.split()
        total, so_far = sum(len(word) + 1 for word in words), 0
        spread: dict[int, str] = {}
        for word in words:
            so_far += len(word) + 1
            last = max(0, -(-so_far * self.ticks // total) - 1)
            spread[last] = spread.get(last, "") + word + " "
        return spread


class FrozenCaller:
    """Plays recordings in order, one tick after the other.

    The agent has the turn as long as it speaks, thinks or has a tool running. Its turn is over once nothing of
    that was so for ``gap_ms``; an agent that does not answer within ``patience_ms`` has had its turn as well.

    Args:
        recordings: what is played; one starts only when the one before is over.
        gap_ms: how long the agent is quiet before its turn counts as over.
        patience_ms: how long an answer is waited for, and how long the line stays open after the last answer.
    """

    def __init__(self, recordings: Sequence[Recording], *, gap_ms: int, patience_ms: int) -> None:
        self._recordings = recordings
        self._gap_ms = gap_ms
        self._patience_ms = patience_ms
        self._next = 0
        self._playing: Iterator[tuple[bytes, list[Event]]] | None = None
        self._idle_ms = 0
        self._voice_at_ms: int | None = None
        self._is_owed_an_answer = False

    @property
    def has_hung_up(self) -> bool:
        """Whether everything was played, and the agent had time to answer."""
        is_through = self._playing is None and self._next == len(self._recordings)
        return is_through and self._idle_ms >= self._patience_ms

    def step(self, t_ms: int, agent: BotActivity, *, may_start: bool = True) -> tuple[bytes, list[Event]]:
        """Return the sound of the tick that begins at ``t_ms``, and the events that belong to its beginning.

        Args:
            t_ms: media time.
            agent: what the agent has under way; its latest sound is heard in this same tick.
            may_start: False once the call is about to end, so that no further recording starts.
        """
        events: list[Event] = []
        if self._playing is not None:
            played = next(self._playing, None)
            if played is not None:
                return played
            self._stop_playing()
            events.append(BotSpeaking(side=Side.USER, speaking=False))
        self._watch(t_ms, agent)
        if may_start and self._next < len(self._recordings) and self._is_due(self._recordings[self._next].start, t_ms):
            self._playing = self._play(self._next)
            self._next += 1
            sound, begun = next(self._playing)
            return sound, [*events, *begun]
        return _SILENCE, events

    def _watch(self, t_ms: int, agent: BotActivity) -> None:
        if agent.is_busy or agent.open_tools:
            self._idle_ms = 0
            self._is_owed_an_answer = False
            if agent.is_audible and self._voice_at_ms is None:
                self._voice_at_ms = t_ms
        else:
            self._idle_ms += TICK_MS

    def _is_due(self, start: UtteranceStart, t_ms: int) -> bool:
        if start.at_ms is not None:
            return t_ms >= start.at_ms
        if start.over_ms is not None and self._voice_at_ms is not None and t_ms >= self._voice_at_ms + start.over_ms:
            return True
        # A barge-in whose agent falls silent too early, or never speaks, becomes an ordinary turn.
        waits_for_voice = start.over_ms is not None and self._voice_at_ms is None
        is_owed = self._is_owed_an_answer or waits_for_voice
        return self._idle_ms >= (self._patience_ms if is_owed else self._gap_ms)

    def _play(self, index: int) -> Iterator[tuple[bytes, list[Event]]]:
        recording = self._recordings[index]
        words = recording.words()
        opening: list[Event] = [
            UtterancePlayed(index=index, duration_ms=recording.ticks * TICK_MS),
            BotSpeaking(side=Side.USER, speaking=True),
        ]
        for number in range(recording.ticks):
            spoken: list[Event] = [SpokenText(side=Side.USER, text=words[number])] if number in words else []
            yield recording.tick(number), [*(opening if number == 0 else []), *spoken]

    def _stop_playing(self) -> None:
        self._playing = None
        self._idle_ms = 0
        self._voice_at_ms = None
        self._is_owed_an_answer = True
