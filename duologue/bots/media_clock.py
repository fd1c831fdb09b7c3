"""Session time: one virtual clock per connection on a shared event loop.

A session's tasks carry its :class:`SessionClock` in a context variable. The loop counts their ready
callbacks and keeps their timers apart; time moves only in :meth:`SessionClock.advance`, and only while
the session is quiescent. Code without a clock in its context runs in real time.
"""

from __future__ import annotations

import asyncio
import contextvars
import datetime as dt
import heapq
import itertools
import time as _time
from asyncio import events
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar, TypeVarTuple, Unpack

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

_NAMES = ("time", "monotonic", "perf_counter", "time_ns", "monotonic_ns", "perf_counter_ns")
_REAL: dict[str, Callable[[], Any]] = {name: getattr(_time, name) for name in _NAMES}
_WALL_ORIGIN_S = 1_700_000_000.0  # where a session's wall clock begins, the same for every session: 2023-11-14
_MONOTONIC_ORIGIN_S = 1000.0  # not 0, which some code takes for never
_ROUNDING_S = 1e-9  # sums of 20 ms steps miss a timer's time by less than this
_MANY_TIMERS = 200  # fewer dead timers are not worth a sweep of the heap

CLOCK: contextvars.ContextVar[SessionClock | None] = contextvars.ContextVar("session_clock", default=None)


class UnheldInput(RuntimeError):
    """Real network I/O was started inside a session without :meth:`SessionClock.real`."""


def real_monotonic() -> float:
    """Return the machine's monotonic clock in seconds, whatever session is running."""
    value: float = _REAL["monotonic"]()
    return value


def install() -> None:
    """Let the ``time`` module's clocks answer with session time inside a session.

    Has to run before Pipecat is imported: some of its dataclasses bind ``time.time`` when they are defined.
    """
    for name in _NAMES:
        origin = _WALL_ORIGIN_S if name in ("time", "time_ns") else _MONOTONIC_ORIGIN_S
        setattr(_time, name, _session_aware(name, origin))


def _session_aware(name: str, origin_s: float) -> Callable[[], object]:
    real, is_ns = _REAL[name], name.endswith("_ns")

    def now() -> object:
        clock = CLOCK.get()
        if clock is None:
            return real()
        return round((origin_s + clock.now) * 1e9) if is_ns else origin_s + clock.now

    return now


class _SessionDatetime(dt.datetime):
    @classmethod
    def now(cls, tz: dt.tzinfo | None = None) -> dt.datetime:  # type: ignore[override]
        clock = CLOCK.get()
        if clock is None:
            return dt.datetime.now(tz)
        return dt.datetime.fromtimestamp(_WALL_ORIGIN_S + clock.now, tz or dt.UTC)


class DatetimeShim:
    """Stands in for the ``datetime`` module where Pipecat writes timestamps."""

    datetime = _SessionDatetime
    UTC = dt.UTC
    timezone = dt.timezone


class SessionClock:
    """Time of one session, in seconds since it began.

    It moves only in :meth:`advance`, and only while no ready callback, no executor job and no held
    real-world call of the session is outstanding.
    """

    def __init__(self, loop: VirtualLoop) -> None:
        self.loop = loop
        self.now = 0.0
        self.pending = 0
        self._timers: list[tuple[float, int, _Timer]] = []
        self._dead_timers = 0
        self._order = itertools.count()
        self._held: set[asyncio.Task[None]] = set()
        self._idle = asyncio.Event()
        self._context = contextvars.copy_context()
        self._context.run(CLOCK.set, self)

    def create_task(self, coroutine: Coroutine[object, object, T]) -> asyncio.Task[T]:
        """Start a coroutine inside the session, from outside it."""
        return self.loop.create_task(coroutine, context=self._context.copy())

    def callback_done(self) -> None:
        """Count one of the session's ready callbacks as run or cancelled."""
        self.pending -= 1
        if self.pending == 0:
            self._idle.set()

    def add_timer(self, when: float, timer: _Timer) -> None:
        """Keep a timer until its time; equal times fire in the order of creation."""
        heapq.heappush(self._timers, (when, next(self._order), timer))

    def timer_cancelled(self) -> None:
        """Count a cancelled timer, and clear them away once they are the majority."""
        self._dead_timers += 1
        if self._dead_timers > _MANY_TIMERS and self._dead_timers * 2 > len(self._timers):
            self._timers = [entry for entry in self._timers if not entry[2].cancelled()]
            heapq.heapify(self._timers)
            self._dead_timers = 0

    async def settle(self) -> None:
        """Let the session run until it is quiescent, without moving time. Called from outside the session."""
        while self.pending or self._held:
            self._idle.clear()
            await self._idle.wait()

    async def advance(self, seconds: float) -> None:
        """Move time forward, firing timers in (time, creation) order. Called from outside the session."""
        target = self.now + seconds
        await self.settle()
        while self._timers and self._timers[0][0] <= target + _ROUNDING_S:
            self.now = max(self.now, self._timers[0][0])
            while self._timers and self._timers[0][0] <= self.now + _ROUNDING_S:
                timer = heapq.heappop(self._timers)[2]
                self._dead_timers -= timer.cancelled()
                timer.fire()
            await self.settle()
        self.now = target

    def give_up(self) -> None:
        """Cancel held real-world work; the session sees it fail with ConnectionAbortedError."""
        for task in list(self._held):
            task.cancel()

    async def real(self, call: Callable[[], Awaitable[T]], *, charge_s: float | None = 0.0) -> T:
        """Await real-world work with session time frozen, then charge for it.

        Args:
            call: starts the work; it runs without the session's clock.
            charge_s: session seconds it costs; None charges the real time it took (not reproducible).
        """
        done: asyncio.Future[tuple[T | None, Exception | None, float]] = self.loop.create_future()

        async def run() -> None:
            started = real_monotonic()
            result: T | None = None
            failure: Exception | None = None
            try:
                result = await call()
            except asyncio.CancelledError:
                failure = ConnectionAbortedError("the work was given up")
            except Exception as error:  # noqa: BLE001 - carried over to the session, which raises it
                failure = error
            if not done.done():
                done.set_result((result, failure, real_monotonic() - started))

        def let_go(task: asyncio.Task[None]) -> None:
            self._held.discard(task)
            self._idle.set()
            if not done.done():
                done.set_result((None, ConnectionAbortedError("the work was given up"), 0.0))

        task = self.loop.create_task(run(), context=contextvars.Context())
        self._held.add(task)
        task.add_done_callback(let_go, context=contextvars.Context())
        try:
            result, failure, took_s = await done
        except asyncio.CancelledError:
            task.cancel()
            raise
        cost_s = took_s if charge_s is None else charge_s
        if cost_s:
            await asyncio.sleep(cost_s)
        if failure is not None:
            raise failure
        return result  # type: ignore[return-value]


class _Handle(events.Handle):
    __slots__ = ("_clock", "_live")

    def __init__(
        self,
        callback: Callable[..., object],
        args: Any,
        loop: VirtualLoop,
        context: contextvars.Context,
        clock: SessionClock,
    ) -> None:
        super().__init__(callback, args, loop, context)
        self._clock, self._live = clock, True

    def _run(self) -> None:
        self._live = False
        try:
            super()._run()
        finally:
            self._clock.callback_done()

    def cancel(self) -> None:
        if not self.cancelled():
            super().cancel()
            if self._live:
                self._live = False
                self._clock.callback_done()


class _Timer(events.TimerHandle):
    __slots__ = ("_clock", "_fired", "_live")

    def __init__(
        self,
        when: float,
        callback: Callable[..., object],
        args: Any,
        loop: VirtualLoop,
        context: contextvars.Context | None,
        clock: SessionClock,
    ) -> None:
        super().__init__(when, callback, args, loop, context)
        self._clock, self._live, self._fired = clock, False, False

    def fire(self) -> None:
        """Hand the callback to the loop, unless it was cancelled."""
        self._fired = True
        if not self.cancelled():
            self._live = True
            self._clock.pending += 1
            self._clock.loop.make_ready(self)

    def _run(self) -> None:
        self._live = False
        try:
            super()._run()
        finally:
            self._clock.callback_done()

    def cancel(self) -> None:
        if not self.cancelled():
            events.Handle.cancel(self)  # the loop's own timer bookkeeping does not know this timer
            if self._live:
                self._live = False
                self._clock.callback_done()
            elif not self._fired:
                self._clock.timer_cancelled()


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop on which callbacks that carry a :class:`SessionClock` live in that session's time."""

    def make_ready(self, handle: events.Handle) -> None:
        """Append a handle to the loop's ready queue."""
        self._ready.append(handle)  # type: ignore[attr-defined]

    def time(self) -> float:
        """Return session time inside a session, else the machine's monotonic time, in seconds."""
        clock = CLOCK.get()
        return real_monotonic() if clock is None else clock.now

    def call_soon(
        self, callback: Callable[[Unpack[Ts]], object], *args: *Ts, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        """Schedule a callback, counted by its session if it has one."""
        clock = CLOCK.get() if context is None else context.get(CLOCK)
        if clock is None:
            return super().call_soon(callback, *args, context=context)
        handle = _Handle(callback, args, self, context or contextvars.copy_context(), clock)
        clock.pending += 1
        self.make_ready(handle)
        return handle

    def call_at(
        self,
        when: float,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        """Schedule a timer on its session's clock if it has one."""
        clock = CLOCK.get() if context is None else context.get(CLOCK)
        if clock is None:
            return super().call_at(when, callback, *args, context=context)
        timer = _Timer(when, callback, args, self, context, clock)
        clock.add_timer(when, timer)
        return timer

    def call_later(
        self,
        delay: float,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        """Schedule a timer ``delay`` seconds from now on the same clock."""
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def run_in_executor(self, executor: Any, func: Callable[[Unpack[Ts]], T], *args: *Ts) -> asyncio.Future[T]:
        """Run inline inside a session, so that results come in a fixed order; in a thread otherwise."""
        if CLOCK.get() is None:
            return super().run_in_executor(executor, func, *args)
        future: asyncio.Future[T] = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 - delivered through the future
            future.set_exception(error)
        return future

    async def create_connection(self, *args: Any, **kwargs: Any) -> Any:
        """Open a connection; refused inside a session."""
        _refuse_unheld()
        return await super().create_connection(*args, **kwargs)

    async def create_datagram_endpoint(self, *args: Any, **kwargs: Any) -> Any:
        """Open a datagram endpoint; refused inside a session."""
        _refuse_unheld()
        return await super().create_datagram_endpoint(*args, **kwargs)

    async def sock_connect(self, sock: Any, address: Any) -> None:
        """Connect a socket; refused inside a session."""
        _refuse_unheld()
        await super().sock_connect(sock, address)


def _refuse_unheld() -> None:
    if CLOCK.get() is not None:
        raise UnheldInput(
            "network I/O inside a session, whose time would not stand still: for a service that makes a request for "
            "each utterance or sentence set hold: true beside it, for all others server.transport: websocket "
            "(in code of our own, SessionClock.real())"
        )
