"""Turns, overlaps and interruptions, from speech on the recording and the events of the trace.

Without a recording (text channel) the words alone make the turns, and nothing can overlap.

Edges are those of what was said, so that noise and loss on the line move none. Times are those at the caller: its own
speech when it speaks, the agent's when it arrives over the line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from duologue.audio.edges import SpeechSegment, speech_segments
from duologue.audio.recording import read_recording
from duologue.records.action import Side
from duologue.records.event import BotSpeaking, Interrupted, SpokenText, ToolCalled
from duologue.records.result import ConversationFigures, Interruption, Overlap, Turn
from duologue.scoring.latency import measure_latency
from duologue.scoring.transcript import Span, place_words
from duologue.trace.reader import Trace

MAX_PAUSE_MS = 3000
"""A longer silence of the same side starts a new turn, even if nobody else spoke."""

CUT_WITHIN_MS = 1500
"""An interrupted side falls silent within this time; otherwise it was not cut."""

EDGE_TOLERANCE_MS = 200
"""How far a bot's own report of speaking may lie from the edge on the recording."""

Segments = Mapping[Side, Sequence[SpeechSegment]]


def at_the_caller(trace: Trace) -> Trace:
    """Return the trace with what the agent does at the time at which its sound arrives at the caller."""
    delay_ms = trace.header.scenario.line.to_user.delay_ms
    if not delay_ms:
        return trace
    events = tuple(
        event.model_copy(update={"t_ms": event.t_ms + delay_ms})
        if getattr(event, "side", None) is Side.AGENT
        else event
        for event in trace.events
    )
    return Trace(trace.header, events, trace.is_torn)


def load_segments(audio: Path, *, to_user_ms: int = 0) -> Segments:
    """Return the speech of both sides on a recording of what was said; the agent's arrives ``to_user_ms`` later.

    Raises:
        ValueError: not a stereo 16-bit WAV file.
        OSError: the file cannot be read.
    """
    tracks = read_recording(audio)
    by_agent = speech_segments(tracks.user_heard, tracks.sample_rate_hz)
    return {
        Side.AGENT: tuple(SpeechSegment(item.start_ms + to_user_ms, item.end_ms + to_user_ms) for item in by_agent),
        Side.USER: speech_segments(tracks.agent_heard, tracks.sample_rate_hz),
    }


def build_conversation(trace: Trace, segments: Segments | None) -> ConversationFigures:
    """Return what was said and when; ``segments`` None means that there is no recording."""
    words = trace.of(SpokenText)
    if segments is None:
        spans, unplaced = _spans_from_words(words), []
    else:
        spans = _spans_from_speech(trace, segments)
        unplaced = place_words(spans, words)
    interruptions = _mark_cuts(spans, trace.of(Interrupted), segments)
    turns = tuple(
        Turn(side=span.side, start_ms=span.start_ms, end_ms=span.end_ms, text=span.text, cut=span.cut) for span in spans
    )
    return ConversationFigures(
        turns=turns,
        overlaps=_overlaps(segments) if segments is not None else (),
        interruptions=tuple(interruptions),
        unplaced=tuple(unplaced),
        latency=measure_latency(turns, measured=segments is not None),
    )


def count_agent_turns(trace: Trace, turns: Sequence[Turn]) -> int:
    """Return how often the agent spoke or used tools, counting what lies between two user turns once."""
    deeds = [(turn.start_ms, turn.side) for turn in turns]
    deeds += [(call.t_ms, Side.AGENT) for call in trace.of(ToolCalled) if call.side is Side.AGENT]
    count, previous = 0, None
    for _, side in sorted(deeds, key=lambda deed: deed[0]):
        count += side is Side.AGENT and previous is not Side.AGENT
        previous = side
    return count


def _spans_from_words(words: Sequence[SpokenText]) -> list[Span]:
    spans: list[Span] = []
    for word in words:
        last = spans[-1] if spans else None
        if last is None or last.side is not word.side or word.t_ms - last.end_ms > MAX_PAUSE_MS:
            last = Span(word.side, word.t_ms, word.t_ms)
            spans.append(last)
        last.pieces.append(word.text)
        last.end_ms = word.t_ms
    return spans


def _spans_from_speech(trace: Trace, segments: Segments) -> list[Span]:
    spans: list[Span] = []
    for side in Side:
        reports = [event.t_ms for event in trace.of(BotSpeaking) if event.side is side]
        reports += [event.t_ms for event in trace.of(Interrupted) if event.side is side]
        open_span: Span | None = None
        for segment in segments[side]:
            if open_span is None or _is_new_turn(open_span.end_ms, segment.start_ms, segments[side.other], reports):
                open_span = Span(side, segment.start_ms, segment.end_ms)
                spans.append(open_span)
            open_span.end_ms = segment.end_ms
    return sorted(spans, key=lambda span: (span.start_ms, span.end_ms))


def _is_new_turn(end_ms: int, start_ms: int, others: Sequence[SpeechSegment], reports: Sequence[int]) -> bool:
    """Return whether speech at ``start_ms`` is a new turn of a side that last spoke until ``end_ms``.

    It is after a long pause, or when the other side spoke in between and the bot itself reported a stop,
    a start or an interruption there (a bot without such reports is taken at its silence).
    """
    if start_ms - end_ms > MAX_PAUSE_MS:
        return True
    if not any(other.start_ms < start_ms and other.end_ms > end_ms for other in others):
        return False
    return not reports or any(end_ms - EDGE_TOLERANCE_MS <= t_ms <= start_ms + EDGE_TOLERANCE_MS for t_ms in reports)


def _mark_cuts(spans: Sequence[Span], events: Sequence[Interrupted], segments: Segments | None) -> list[Interruption]:
    interruptions = []
    for event in events:
        span = next((item for item in reversed(spans) if _is_cut_by(item, event)), None)
        if span is None or span.cut:
            continue
        others = segments[event.side.other] if segments is not None else ()
        starts = [other.start_ms for other in others if span.start_ms <= other.start_ms <= event.t_ms]
        if segments is not None and not starts:
            continue
        span.cut = True
        start_ms = starts[-1] if starts else event.t_ms
        interruptions.append(
            Interruption(
                side=event.side,
                by=event.side.other,
                start_ms=start_ms,
                yield_ms=max(span.end_ms - start_ms, 0),
                seq=event.seq,
            )
        )
    return interruptions


def _is_cut_by(span: Span, event: Interrupted) -> bool:
    return (
        span.side is event.side
        and span.start_ms <= event.t_ms <= span.end_ms + EDGE_TOLERANCE_MS
        and span.end_ms - event.t_ms <= CUT_WITHIN_MS
    )


def _overlaps(segments: Segments) -> tuple[Overlap, ...]:
    overlaps = []
    for agent in segments[Side.AGENT]:
        for user in segments[Side.USER]:
            start, end = max(agent.start_ms, user.start_ms), min(agent.end_ms, user.end_ms)
            if start < end:
                by = Side.AGENT if agent.start_ms > user.start_ms else Side.USER
                overlaps.append(Overlap(start_ms=start, end_ms=end, by=by))
    return tuple(sorted(overlaps, key=lambda overlap: overlap.start_ms))
