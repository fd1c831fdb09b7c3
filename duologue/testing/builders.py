"""Small traces, built the way the bridge writes them."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Self

import numpy as np

from duologue.audio.recording import RecordingInfo, RecordingWriter
from duologue.records.action import Side
from duologue.records.event import (
    ActionApplied,
    BotSpeaking,
    CallEnded,
    CallStarted,
    Event,
    ExitRequested,
    FinalState,
    InitialState,
    SpokenText,
    SummaryPulled,
    ToolCalled,
    ToolReturned,
    TraceHeader,
)
from duologue.records.outcome import StopReason
from duologue.records.run_layout import TRACE
from duologue.records.scenario import Scenario
from duologue.state.canonical import contract_hash
from duologue.toolkit.dual_state import DualState
from duologue.trace.reader import Trace
from duologue.trace.writer import TraceWriter

EPOCH = "epoch-1"


class TraceBuilder:
    """Collects events; writes go through real tools on a real shadow, so that the end state is true.

    Args:
        scenario: what the call is about; its domain must be registered.
        settings: the header's settings.
        compat: the header's compat modes.
    """

    def __init__(
        self, scenario: Scenario, *, settings: dict[str, object] | None = None, compat: Sequence[str] = ()
    ) -> None:
        self.header = TraceHeader(
            run_id="run",
            epoch=EPOCH,
            utc_started="2025-02-25T12:00:00+00:00",
            scenario=scenario,
            settings=settings or {},
            compat=tuple(compat),
        )
        self.dual = DualState.for_scenario(scenario, epoch=EPOCH)
        self.events: list[Event] = []
        self.t_ms = 0
        agent, user = self.dual.agent, self.dual.side(Side.USER)
        self.add(
            InitialState(
                agent_db=copy.deepcopy(agent.db),
                user_db=copy.deepcopy(user.db),
                agent_memory=copy.deepcopy(agent.memory),
                user_memory=copy.deepcopy(user.memory),
            )
        )
        self.add(CallStarted(kick_off="Hello"))

    def add(self, event: Event, *, t_ms: int | None = None) -> Self:
        """Append an event at ``t_ms``, or at the present time of the builder."""
        self.t_ms = max(self.t_ms, t_ms if t_ms is not None else self.t_ms)
        at = self.t_ms if t_ms is None else t_ms
        self.events.append(event.model_copy(update={"seq": len(self.events) + 1, "t_ms": at}))
        return self

    def say(self, side: Side, text: str, start_ms: int, end_ms: int) -> Self:
        """Speak ``text`` word by word, evenly over the time."""
        words = text.split()
        self.add(BotSpeaking(side=side, speaking=True), t_ms=start_ms)
        for index, word in enumerate(words):
            at = start_ms + (end_ms - start_ms) * index // len(words)
            self.add(SpokenText(side=side, text=f"{word} "), t_ms=at)
        return self.add(BotSpeaking(side=side, speaking=False), t_ms=end_ms)

    def call_tool(self, side: Side, name: str, **arguments: object) -> Self:
        """Call a tool on the shadow; a recorded write is also reported as applied, then both sides are synced."""
        call_id = f"call-{len(self.events)}"
        self.add(ToolCalled(side=side, call_id=call_id, name=name, arguments=arguments))
        outcome = self.dual.invoke(side, name, arguments)
        if outcome.is_recorded:
            record = self.dual.ledgers[side].actions[-1].model_copy(update={"side": side})
            self.add(ActionApplied(side=side, action=record))
            self.dual.sync()
        return self.add(ToolReturned(side=side, call_id=call_id, name=name, result=outcome.value))

    def hang_up(self) -> Self:
        """Let the agent ask for the end and end the call cleanly, with both summaries and the final state."""
        self.add(ExitRequested(side=Side.AGENT, text="The task is finished."))
        return self.end(StopReason.EXIT)

    def end(self, reason: StopReason) -> Self:
        """End the call for ``reason`` and pull both summaries."""
        self.add(CallEnded(stop_reason=reason, media_ms=self.t_ms, wall_ms=self.t_ms))
        for side in Side:
            self.add(self.summary(side))
        agent, user = self.dual.agent, self.dual.side(Side.USER)
        return self.add(
            FinalState(
                agent_db=copy.deepcopy(agent.db),
                user_db=copy.deepcopy(user.db),
                agent_digest=agent.digest(),
                user_digest=user.digest(),
            )
        )

    def summary(self, side: Side) -> SummaryPulled:
        """Return a side's true summary."""
        state = self.dual.side(side)
        return SummaryPulled(
            side=side,
            actions=tuple(
                action.model_dump(mode="json", exclude_none=True) for action in self.dual.ledgers[side].actions
            ),
            db_hash=contract_hash(state.db),
            digest=state.digest(),
            db=copy.deepcopy(state.db),
        )

    def change(self, kind: type[Event], side: Side | None = None, **values: object) -> Self:
        """Overwrite fields of the stored events of one class (and side): how evidence gets damaged in tests."""
        self.events = [
            event.model_copy(update=values)
            if isinstance(event, kind) and (side is None or getattr(event, "side", None) is side)
            else event
            for event in self.events
        ]
        return self

    def drop(self, kind: type[Event], side: Side | None = None) -> Self:
        """Remove the events of one class (and side); the rest keeps its order and is numbered anew."""
        kept = [
            event
            for event in self.events
            if not (isinstance(event, kind) and (side is None or getattr(event, "side", None) is side))
        ]
        self.events = [event.model_copy(update={"seq": seq}) for seq, event in enumerate(kept, start=1)]
        return self

    def build(self) -> Trace:
        """Return the trace."""
        return Trace(self.header, tuple(self.events))

    def save(self, folder: Path) -> Path:
        """Write ``trace.jsonl`` into ``folder``, which is created, and return its path."""
        folder.mkdir(parents=True, exist_ok=True)
        writer = TraceWriter(folder / TRACE, self.header)
        for event in self.events:
            writer.write(event)
        writer.close()
        return folder / TRACE


def write_recording(
    path: Path,
    *,
    agent: Sequence[tuple[int, int]] = (),
    user: Sequence[tuple[int, int]] = (),
    length_ms: int = 0,
    sample_rate_hz: int = 16_000,
) -> RecordingInfo:
    """Write a stereo recording with a steady tone wherever a side speaks.

    Args:
        path: where to.
        agent: stretches (start, end) in milliseconds in which the agent speaks; they go to the right track.
        user: the same for the user; they go to the left track.
        length_ms: total length; at least to the end of the last stretch.
        sample_rate_hz: of both tracks.
    """
    total_ms = max([length_ms, *(end for _, end in [*agent, *user])])
    writer = RecordingWriter(path, sample_rate_hz)
    writer.append(*(_tones(stretches, total_ms, sample_rate_hz) for stretches in (user, agent)))
    return writer.close()


def _tones(stretches: Sequence[tuple[int, int]], total_ms: int, sample_rate_hz: int) -> bytes:
    samples = np.zeros(total_ms * sample_rate_hz // 1000, dtype=np.float64)
    tone = 0.3 * np.sin(2 * np.pi * 440 * np.arange(len(samples)) / sample_rate_hz)
    for start_ms, end_ms in stretches:
        part = slice(start_ms * sample_rate_hz // 1000, end_ms * sample_rate_hz // 1000)
        samples[part] = tone[part]
    return (samples * 32767).astype("<i2").tobytes()
