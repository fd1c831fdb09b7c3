import asyncio

import pytest

from duologue.bridge.realtime_work import BackgroundWork


async def test_jobs_run_one_after_the_other_beside_the_caller() -> None:
    done: list[int] = []
    gate = asyncio.Event()

    async def first() -> None:
        await gate.wait()
        done.append(1)

    async def second() -> None:
        done.append(2)

    async with BackgroundWork() as work:
        work.add(first)
        work.add(second)
        await asyncio.sleep(0)
        assert done == []
        gate.set()
        await work.finish()
    assert done == [1, 2]


async def test_a_failed_job_is_raised_at_the_next_look_and_ends_the_work() -> None:
    async def fails() -> None:
        raise ValueError("no")

    async with BackgroundWork() as work:
        work.check()
        work.add(fails)
        with pytest.raises(ValueError, match="no"):
            await work.finish()
        with pytest.raises(ValueError, match="no"):
            work.check()


async def test_leaving_drops_a_job_that_hangs() -> None:
    async with asyncio.timeout(5):
        async with BackgroundWork() as work:
            work.add(asyncio.Event().wait)  # type: ignore[arg-type]
            await asyncio.sleep(0)
