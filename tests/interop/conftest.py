from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import duologue.bots.context
from duologue.bots.server import bound_socket, token_check
from duologue.bots.services import Models, load_models
from duologue.bots.websocket_bot import WebsocketBot
from duologue.brains.reply import BrainReply
from duologue.config import BotConfig

Decide = Callable[[list[dict], list[str]], BrainReply]
TOY = Path(__file__).parents[1] / "toy_domain"


@pytest.fixture(scope="session", autouse=True)
def heating() -> Iterator[None]:
    """Let the toy domain be found the way a user's own domain is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DUOLOGUE_DOMAINS", os.pathsep.join([str(TOY)]))
        yield


@pytest.fixture(scope="session")
def models() -> Models:
    return load_models(BotConfig.model_validate({"transport": {"type": "websocket"}}))


class RunningWebsocketBot:
    """A bot in real time, on a thread with an ordinary event loop."""

    def __init__(self, config: BotConfig, models: Models) -> None:
        self._config, self._models, self.url = config, models, ""
        self._up = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    def __enter__(self) -> RunningWebsocketBot:
        self._thread.start()
        assert self._up.wait(20), "the bot did not start"
        return self

    def __exit__(self, *_: object) -> None:
        self.loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(20)
        assert not self._thread.is_alive(), "the bot did not stop"

    async def _serve(self) -> None:
        self.loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        with bound_socket(self._config) as listener:
            bot = WebsocketBot(self._config, self._models, listener, token_check(self._config))
            async with bot.serving():
                self.url = f"ws://127.0.0.1:{listener.getsockname()[1]}"
                self._up.set()
                await self._stop.wait()


class _Given:
    def __init__(self, decide: Decide) -> None:
        self.decide = decide


@pytest.fixture(scope="module")
def start_websocket_bot(models: Models) -> Iterator[Callable[..., RunningWebsocketBot]]:
    """Start a bot in real time whose brain is the given function of messages and tools."""
    with contextlib.ExitStack() as stack, pytest.MonkeyPatch.context() as patch:

        def start(decide: Decide | None = None, **sections: Any) -> RunningWebsocketBot:
            brain = decide or (lambda messages, tools: BrainReply())
            patch.setattr(duologue.bots.context, "build_brain", lambda kind, payload, settings: _Given(brain))
            server = {"port": 0, **sections.pop("server", {})}
            config = BotConfig.model_validate({"server": server, "transport": {"type": "websocket"}, **sections})
            return stack.enter_context(RunningWebsocketBot(config, models))

        yield start
