"""The machine of a recorded caller: when each of its utterances is due, and when it is through. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from duologue.protocol.messages import TICK_MS
from duologue.records.caller import UtteranceStart
from duologue.toolkit.caller_machine import ClipEnded, HangUp, Happening, Move, PlayClip, TimePassed


class RecordingMachine:
    """Plays the clips "1", "2"… in order, each when it is due, and hangs up.

    The agent has the turn as long as it speaks, thinks or has a tool running. Its turn is over once nothing of
    that was so for ``gap_ms``; an agent that does not answer within ``patience_ms`` has had its turn as well. While it
    plays, the machine takes no notice of the agent.

    Args:
        starts: when each utterance is played; one starts only when the one before is over.
        gap_ms: how long the agent is quiet before its turn counts as over.
        patience_ms: how long an answer is waited for, and how long the line stays open after the last answer.
    """

    def __init__(self, starts: Sequence[UtteranceStart], *, gap_ms: int, patience_ms: int) -> None:
        self._starts = starts
        self._gap_ms = gap_ms
        self._patience_ms = patience_ms
        self._next = 0
        self._is_playing = False
        self._idle_ms = 0
        self._voice_at_ms: int | None = None
        self._is_owed_an_answer = False

    def take(self, happening: Happening) -> Sequence[Move]:
        """Play the next utterance once it is due; hang up when all were played and the last answer is over."""
        match happening:
            case ClipEnded():
                self._is_playing = False
                self._idle_ms = 0
                self._voice_at_ms = None
                self._is_owed_an_answer = True
            case TimePassed() if not self._is_playing:
                self._watch(happening)
                return self._moves(happening.at_ms)
        return ()

    def _moves(self, t_ms: int) -> Sequence[Move]:
        if self._next == len(self._starts):
            return (HangUp(),) if self._idle_ms >= self._patience_ms else ()
        if not self._is_due(self._starts[self._next], t_ms):
            return ()
        self._next += 1
        self._is_playing = True
        return (PlayClip(str(self._next), t_ms),)

    def _watch(self, now: TimePassed) -> None:
        if now.is_agent_busy:
            self._idle_ms = 0
            self._is_owed_an_answer = False
            if now.is_agent_audible and self._voice_at_ms is None:
                self._voice_at_ms = now.at_ms
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
