import asyncio

import pytest

from duologue.bots.media_clock import SessionClock, UnheldInput, VirtualLoop, real_monotonic


def in_session(session):
    """Run ``session(clock)`` as a coroutine on a virtual loop, outside any session."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:

        async def main():
            loop = asyncio.get_running_loop()
            assert isinstance(loop, VirtualLoop)
            return await session(SessionClock(loop))

        return runner.run(main())


def test_time_moves_only_when_it_is_granted():
    async def session(clock):
        task = clock.create_task(asyncio.sleep(5))
        await clock.settle()
        await clock.advance(4.98)
        before = task.done()
        await clock.advance(0.02)
        return before, task.done(), clock.now

    started = real_monotonic()
    before, after, now = in_session(session)
    assert (before, after) == (False, True)
    assert now == pytest.approx(5)
    assert real_monotonic() - started < 1


def test_timers_fire_in_the_order_of_time_then_creation():
    async def session(clock):
        fired = []

        async def wait(name, seconds):
            await asyncio.sleep(seconds)
            fired.append((name, round(asyncio.get_running_loop().time(), 3)))

        for name, seconds in (("late", 0.3), ("first", 0.1), ("second", 0.1)):
            clock.create_task(wait(name, seconds))
        await clock.advance(1)
        return fired

    assert in_session(session) == [("first", 0.1), ("second", 0.1), ("late", 0.3)]


def test_sessions_have_their_own_time():
    async def session(clock):
        other = SessionClock(clock.loop)
        tasks = [one.create_task(asyncio.sleep(1)) for one in (clock, other)]
        await clock.advance(1)
        await other.advance(0.5)
        return [task.done() for task in tasks]

    assert in_session(session) == [True, False]


def test_a_timeout_is_a_timeout_in_session_time():
    async def session(clock):
        task = clock.create_task(asyncio.wait_for(asyncio.Event().wait(), 10))
        await clock.advance(10)
        return type(task.exception())

    assert in_session(session) is TimeoutError


def test_unheld_network_io_is_refused_and_held_io_is_not():
    async def session(clock):
        server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]

        async def dial():
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()
            return "connected"

        async def inside():
            with pytest.raises(UnheldInput):
                await dial()
            return await clock.real(dial)

        task = clock.create_task(inside())
        await clock.settle()
        server.close()
        return task.result(), clock.now

    assert in_session(session) == ("connected", 0.0)


@pytest.mark.parametrize(("charge_s", "expected"), [(0.0, 0.0), (0.25, 0.25)])
def test_held_work_freezes_time_and_is_charged(charge_s, expected):
    async def session(clock):
        async def work():
            await asyncio.sleep(0.05)

        async def inside():
            await clock.real(work, charge_s=charge_s)
            return clock.now

        task = clock.create_task(inside())
        await clock.advance(1)
        return task.result()

    assert in_session(session) == pytest.approx(expected)


def test_measured_work_costs_what_it_took():
    async def session(clock):
        async def inside():
            await clock.real(lambda: asyncio.sleep(0.05), charge_s=None)
            return clock.now

        task = clock.create_task(inside())
        await clock.advance(1)
        return task.result()

    assert 0.05 <= in_session(session) < 0.5


def test_work_that_is_given_up_fails_in_the_session():
    async def session(clock):
        task = clock.create_task(clock.real(lambda: asyncio.sleep(60)))
        asyncio.get_running_loop().call_later(0.05, clock.give_up)
        await clock.settle()
        return type(task.exception())

    assert in_session(session) is ConnectionAbortedError


def test_cancelled_timers_do_not_pile_up():
    async def session(clock):
        async def inside():
            for _ in range(2000):
                asyncio.get_running_loop().call_later(3600, print).cancel()

        clock.create_task(inside())
        await clock.settle()
        return len(clock._timers)

    assert in_session(session) < 500


def test_executor_jobs_give_their_results_in_order():
    async def session(clock):
        async def inside():
            loop = asyncio.get_running_loop()
            return [await loop.run_in_executor(None, pow, 2, power) for power in range(5)]

        task = clock.create_task(inside())
        await clock.settle()
        return task.result()

    assert in_session(session) == [1, 2, 4, 8, 16]
