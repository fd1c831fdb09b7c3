"""Holding one call to its last event, whatever holds the two sides and whatever happens to them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from duologue.clock import Clock
from duologue.records.event import Event
from duologue.records.outcome import StopReason
from duologue.trace.call_trace import CallTrace, cause_of


class HeldCall(Protocol):
    """One call. It writes what happens in it to the trace that it was made with, and leaves the end to its holder."""

    async def talk(self) -> StopReason:
        """Prepare both sides and converse, from the first event to the one before the end; return why it is over.

        Raises:
            Exception: the call cannot go on.
        """
        ...

    async def part(self) -> None:
        """After the end: pull what the sides still know if the call was started, and let go of them.

        Raises:
            Exception: it could not be pulled.
        """
        ...

    def close(self) -> Iterable[Event]:
        """Close everything at once, also when cancelled; yield the last events: final state, recording."""
        ...


async def hold_call(call: HeldCall, trace: CallTrace, clock: Clock | None = None) -> None:
    """Hold ``call`` to its last event. Trouble in it becomes a fault and an end; only cancellation is raised.

    Args:
        call: writes to ``trace``.
        trace: of this call alone; stays open.
        clock: measures the wall time of the call; None for calls that have none.

    Raises:
        OSError: the trace or the recording cannot be written.
        TraceError: the trace is closed.
    """
    if clock is not None:
        trace.take_time(clock)
    try:
        with trace.ended_by_trouble():
            trace.end(await call.talk())
        try:
            await call.part()
        except Exception as error:  # noqa: BLE001 - the boundary of the attempt
            trace.fault(cause_of(error), error)
    finally:
        for event in call.close():
            if trace.has_ended:
                trace.write(event)
