"""A bot server on a thread, and the requests that begin a scenario of the toy domain."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import AsyncIterator
from typing import Any

from websockets.asyncio.client import connect

# Imported here, because two bots on two threads that import it at once meet a module that is half loaded.
import duologue.bots.brains.openai  # noqa: F401
from duologue.bots.media_clock import VirtualLoop
from duologue.bots.server import BotServer, bound_socket
from duologue.bots.services import Models
from duologue.config import BotConfig
from tests.bots.wire_client import WireClient


class RunningBot:
    """A bot server on a thread with its own event loop."""

    def __init__(self, config: BotConfig, models: Models) -> None:
        self.config = config
        self.loop: VirtualLoop
        self.url = ""
        self.server: BotServer
        self._models = models
        self._up = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> RunningBot:
        self._thread.start()
        assert self._up.wait(10), "the bot did not start"
        return self

    def __exit__(self, *_: object) -> None:
        self.loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(15)
        assert not self._thread.is_alive(), "the bot did not stop"

    def _serve(self) -> None:
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            runner.run(self._until_stopped())

    async def _until_stopped(self) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        self.loop, self._stop = loop, asyncio.Event()
        listener = bound_socket(self.config)
        self.server = BotServer(self.config, self._models)
        async with self.server.listen(listener):
            self.url = f"ws://127.0.0.1:{listener.getsockname()[1]}"
            self._up.set()
            await self._stop.wait()

    @contextlib.asynccontextmanager
    async def client(self, **options: Any) -> AsyncIterator[WireClient]:
        async with connect(self.url, compression=None, ping_interval=None, **options) as socket:
            yield WireClient(socket)

    @contextlib.asynccontextmanager
    async def scenario(self, *, tools: tuple[str, ...] = (), **options: Any) -> AsyncIterator[WireClient]:
        """A client that has shaken hands and begun a scenario of the toy domain."""
        async with self.client() as client:
            await client.ready(barrier=bool(options.pop("barrier", False)))
            assert await client.ask("update_system_prompt", scenario_start(tools=tools, **options)) is True
            db = "db" if {"find_account", "restore_supply"} & set(tools) else "user_db"
            result = await client.ask("apply_initialization", initial_state(f"heating/{db}"))
            assert isinstance(result, dict) and result["success"], result
            yield client


def scenario_start(*, tools: tuple[str, ...] = (), epoch: str = "e1", **scenario: object) -> dict:
    return {
        "prompt": "You are a test.",
        "add_suffix": False,
        "tool_domain": "heating",
        "tools": json.dumps({name: {} for name in tools}),
        "scenario": json.dumps({"name": "heating__test", "domain": "heating", "epoch": epoch, **scenario}),
    }


def initial_state(db_path: str, *actions: dict) -> dict:
    shared = json.dumps({"db_path": db_path})
    return {"domain": "heating", "shared_state_init": shared, "actions": list(actions)}


def last(messages: list[dict], role: str) -> str:
    """The content of the last message of a role, or nothing."""
    found = [message.get("content") or "" for message in messages if message["role"] == role]
    return found[-1] if found else ""
