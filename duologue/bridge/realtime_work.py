"""Work that must not hold up a call in real time: done in order, beside the tick loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Self

Job = Callable[[], Awaitable[None]]


class BackgroundWork:
    """Runs jobs one after the other. Use as an async context; leaving it drops what has not begun."""

    def __init__(self) -> None:
        self._jobs: asyncio.Queue[Job] = asyncio.Queue()
        self._worker: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._worker = asyncio.create_task(self._run(), name="background work of a call")
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._worker is not None:
            self._worker.cancel()
            await asyncio.wait({self._worker})

    def add(self, job: Job) -> None:
        """Queue a job."""
        self._jobs.put_nowait(job)

    def check(self) -> None:
        """Raise what a job raised, if one did; the jobs after it are not done."""
        if self._worker is not None and self._worker.done():
            self._worker.result()

    async def finish(self) -> None:
        """Wait until every job is done, and raise what one raised."""
        if self._worker is None:
            return
        done = asyncio.create_task(self._jobs.join())
        await asyncio.wait({done, self._worker}, return_when=asyncio.FIRST_COMPLETED)
        done.cancel()
        self.check()

    async def _run(self) -> None:
        while True:
            job = await self._jobs.get()
            await job()
            self._jobs.task_done()
