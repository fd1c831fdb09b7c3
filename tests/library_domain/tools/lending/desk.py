"""The loan desk as a resource: one process for a run, one credential for an attempt."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import aiohttp

from duologue.errors import ToolRefusal
from duologue.toolkit.resources import CloneOrder, Resource, ResourceClone, ResourceSetup, resource

DOMAIN = "lending"
SERVICE = Path(__file__).parent / "services" / "loan_desk.py"


class DeskClient:
    """What tools use: the desk, as one attempt sees it."""

    def __init__(self, session: aiohttp.ClientSession, credential: str) -> None:
        self._session = session
        self._headers = {"Authorization": f"Bearer {credential}"}

    async def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Return the answer. Raises ToolRefusal when the desk says no."""
        async with self._session.request(method, path, json=body, headers=self._headers) as answer:
            value = await answer.json()
            if answer.status in (404, 409):
                raise ToolRefusal(value["reason"])
            answer.raise_for_status()
            return value


class DeskClone(ResourceClone):
    """The loans of one attempt."""

    def __init__(self, client: DeskClient) -> None:
        self._client = client

    @property
    def handle(self) -> DeskClient:
        return self._client

    async def snapshot(self) -> Any:
        return await self._client.ask("GET", "/loans")

    async def restore(self, snapshot: Any) -> None:
        await self._client.ask("PUT", "/loans", snapshot)

    async def close(self) -> None:
        await self._client.ask("DELETE", "/loans")


@resource(DOMAIN, "desk")
class Desk(Resource):
    """Starts the service, or uses the one at the address it is given."""

    def __init__(self, setup: ResourceSetup) -> None:
        self._url = setup.url
        self._process: asyncio.subprocess.Process | None = None
        self._session: aiohttp.ClientSession | None = None

    async def start(self) -> None:
        if not self._url:
            pipe = asyncio.subprocess.PIPE
            self._process = await asyncio.create_subprocess_exec(
                sys.executable, SERVICE, stdin=pipe, stdout=pipe, start_new_session=True
            )
            assert self._process.stdout is not None
            self._url = (await self._process.stdout.readline()).decode().strip()
        self._session = aiohttp.ClientSession(self._url)
        await self._client().ask("GET", "/health")

    async def is_alive(self) -> bool:
        await self._client().ask("GET", "/health")
        return True

    async def clone(self, order: CloneOrder) -> DeskClone:
        made = await self._client().ask("POST", "/clones", order.data)
        return DeskClone(self._client(made["credential"]))

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            await self._process.wait()

    def _client(self, credential: str = "") -> DeskClient:
        assert self._session is not None
        return DeskClient(self._session, credential)
