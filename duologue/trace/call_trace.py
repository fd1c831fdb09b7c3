"""The grammar of a trace: what may follow what. Everything that holds a call writes through it, and nothing else does.

::

    sides ready and prepared → initial state → call started → … → call ended → pulled → final state → recording

What the clones of resources hold stands after the initial state, and again before the final one. A call may end at any
point; what comes before the end is then missing. Faults and notes may stand anywhere up to the final state.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum

from duologue.clock import Clock
from duologue.errors import (
    BotError,
    DuologueError,
    InitializationFailed,
    ProtocolViolation,
    ReconcileFailed,
    TraceError,
)
from duologue.records.action import Side
from duologue.records.event import (
    BotReady,
    CallEnded,
    CallStarted,
    ContextPulled,
    DeltaPushed,
    Event,
    EventBase,
    Fault,
    FinalState,
    InitialState,
    Prepared,
    ProtocolNote,
    RecordingWritten,
    ResourceSnapshot,
    StateChecked,
    SummaryPulled,
    TraceHeader,
)
from duologue.records.outcome import Cause, StopReason
from duologue.trace.writer import TraceSink

logger = logging.getLogger(__name__)

Kinds = tuple[type[EventBase], ...]


class Stage(IntEnum):
    """How far a trace has come."""

    PREPARING = 0
    READY = 1
    TALKING = 2
    ENDED = 3
    FINAL = 4


_REMARKS: Kinds = (Fault, ProtocolNote)
_SYNC: Kinds = (DeltaPushed, StateChecked)
_PULLED: Kinds = (SummaryPulled, ContextPulled)
_ALLOWED: dict[Stage, Kinds] = {
    Stage.PREPARING: (BotReady, Prepared, InitialState, CallEnded, *_SYNC, *_REMARKS),
    Stage.READY: (ResourceSnapshot, CallStarted, CallEnded, *_REMARKS),
    Stage.ENDED: (ResourceSnapshot, FinalState, *_PULLED, *_SYNC, *_REMARKS),
    Stage.FINAL: (RecordingWritten,),
}
_NOT_WHILE_TALKING: Kinds = (
    BotReady,
    Prepared,
    InitialState,
    ResourceSnapshot,
    CallStarted,
    *_PULLED,
    FinalState,
    RecordingWritten,
)
_OPENED_BY: dict[type[EventBase], Stage] = {
    InitialState: Stage.READY,
    CallStarted: Stage.TALKING,
    CallEnded: Stage.ENDED,
    FinalState: Stage.FINAL,
}


class CallTrace:
    """Writes the events of one call in their order, numbered from 1, each at the present media time.

    ``t_ms`` is what the next event is stamped with, ``media_ms`` how far the call has come: an event in the middle of a
    tick carries the time at which the tick began. Both are set by who holds the call.

    Args:
        sink: where the events go.
        on_event: called with each event after it was written.
        on_tick: called by :meth:`ticked`.
    """

    def __init__(
        self,
        sink: TraceSink,
        on_event: Callable[[Event], None] | None = None,
        on_tick: Callable[[int], None] | None = None,
    ) -> None:
        self._sink = sink
        self._on_event = on_event
        self._on_tick = on_tick
        self._clock: Clock | None = None
        self._started_s = 0.0
        self._stage = Stage.PREPARING
        self._n_events = 0
        self._once: set[tuple[type[EventBase], object]] = set()
        self.t_ms = 0
        self.media_ms = 0
        self.has_fatal_fault = False
        self.is_prepared = False
        self.has_started = False

    @property
    def header(self) -> TraceHeader:
        """The trace's first line."""
        return self._sink.header

    @property
    def has_ended(self) -> bool:
        """Whether the call is over: the trace holds its end."""
        return self._stage >= Stage.ENDED

    def take_time(self, clock: Clock) -> None:
        """Measure ``wall_ms`` of the end from here; without this it is 0."""
        self._clock, self._started_s = clock, clock.monotonic()

    def write(self, event: Event) -> None:
        """Write one event.

        Raises:
            TraceError: it has no place here, or the trace is closed.
        """
        self._check(event)
        numbered = event.model_copy(update={"seq": self._n_events + 1, "t_ms": self.t_ms})
        self._sink.write(numbered)
        self._n_events += 1
        self._note(event)
        if self._on_event is not None:
            self._on_event(numbered)

    def move_to(self, media_ms: int) -> None:
        """Let the call have come to ``media_ms``, between two ticks: what is written next is stamped with it."""
        self.t_ms = self.media_ms = media_ms

    def ticked(self) -> None:
        """Tell the listener how far the call has come."""
        if self._on_tick is not None:
            self._on_tick(self.media_ms)

    def note(self, side: Side, text: str) -> None:
        """Write why something that a bot sent was dropped."""
        self.write(ProtocolNote(side=side, note=text))

    def fault(self, cause: Cause, error: BaseException, *, fatal: bool = True) -> None:
        """Write a fault; the side comes from the error when it has one."""
        side = Side(error.side) if isinstance(error, BotError) else None
        text = str(error) if isinstance(error, DuologueError) else f"{type(error).__name__}: {error}"
        if isinstance(error, BotError) and error.request_id:
            text = f"{text} (request {error.request_id})"
        self.write(Fault(cause=cause, side=side, error=type(error).__name__, message=text, fatal=fatal))

    def end(self, reason: StopReason) -> None:
        """Write the end of the call, at the media time that it has reached.

        Raises:
            TraceError: it has ended already.
        """
        self.t_ms = self.media_ms
        wall_s = self._clock.monotonic() - self._started_s if self._clock is not None else 0.0
        self.write(CallEnded(stop_reason=reason, media_ms=self.media_ms, wall_ms=round(wall_s * 1000)))

    def break_off(self, error: Exception, *, cause: Cause | None = None, reason: StopReason | None = None) -> bool:
        """End a call that nobody has ended, with ``error`` as its fault; ``cause`` and ``reason`` follow from it.

        Returns False when it has ended, or the trace takes no more.
        """
        if self.has_ended:
            return False
        cause = cause or cause_of(error)
        if cause is Cause.HARNESS:
            logger.error("the call broke off", exc_info=error)
        try:
            self.fault(cause, error)
            self.end(reason or (_reason_of(error) if self.has_started else StopReason.NOT_STARTED))
        except (OSError, TraceError):
            logger.exception("the trace cannot be ended")
            return False
        return True

    @contextmanager
    def ended_by_trouble(self) -> Iterator[None]:
        """End the call when an error or a cancellation leaves the block and nobody has ended it.

        An error that ended the call is not raised any further; a cancellation always is.
        """
        try:
            yield
        except asyncio.CancelledError:
            if not self.has_ended:
                self.end(StopReason.INTERRUPTED)
            raise
        except Exception as error:
            if not self.break_off(error):
                raise

    def close(self) -> None:
        """Take no more events. Closing twice is harmless."""
        self._sink.close()

    def _check(self, event: EventBase) -> None:
        if problem := self._problem(event):
            raise TraceError(f"{self.header.scenario.name}: {_name(event)} {problem}")

    def _problem(self, event: EventBase) -> str:
        if self._stage is Stage.TALKING:
            is_allowed = not isinstance(event, _NOT_WHILE_TALKING)
        else:
            is_allowed = isinstance(event, _ALLOWED[self._stage])
        if not is_allowed:
            return f"has no place in a trace that is {self._stage.name.lower()}"
        if isinstance(event, FinalState) and not self.is_prepared:
            return "without an initial state"
        if isinstance(event, ResourceSnapshot) and (event.moment == "initial") is not (self._stage is Stage.READY):
            return f"of moment {event.moment} has no place in a trace that is {self._stage.name.lower()}"
        if isinstance(event, Prepared) and (BotReady, event.side) not in self._once:
            return f"of the {event.side} side, which is not ready"
        if (key := _once_key(event)) is not None and key in self._once:
            return f"of {key[1]} is in the trace already"
        return ""

    def _note(self, event: EventBase) -> None:
        self._stage = _OPENED_BY.get(type(event), self._stage)
        if (key := _once_key(event)) is not None:
            self._once.add(key)
        match event:
            case InitialState():
                self.is_prepared = True
            case CallStarted():
                self.has_started = True
            case Fault(fatal=True):
                self.has_fatal_fault = True


def cause_of(error: BaseException) -> Cause:
    """Return whose fault an error of a call is."""
    match error:
        case InitializationFailed():
            return Cause.INIT
        case ReconcileFailed():
            return Cause.SYNC
        case BotError():
            return Cause.TRANSPORT
        case _:
            return Cause.HARNESS


def _reason_of(error: BaseException) -> StopReason:
    is_lost = isinstance(error, BotError) and not isinstance(error, ProtocolViolation)
    return StopReason.BOT_LOST if is_lost else StopReason.FAULT


def _once_key(event: EventBase) -> tuple[type[EventBase], object] | None:
    """Return what may be in a trace only once: a side's readiness, what was pulled of it, a snapshot, a recording."""
    match event:
        case BotReady() | Prepared() | SummaryPulled() | ContextPulled():
            return type(event), event.side
        case RecordingWritten():
            return type(event), event.path
        case ResourceSnapshot():
            return type(event), f"{event.name}, {event.moment}"
        case _:
            return None


def _name(event: EventBase) -> str:
    return str(getattr(event, "event", type(event).__name__))
