"""Starting the bots of a run, and stopping them whatever happens.

Each bot is a process of its own session with its standard input held open by this process. A bot that is
started this way ends when that pipe closes, so that none survives a runner that is killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import signal
import sys
from collections import deque
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from duologue.errors import BotUnavailable, ConfigError
from duologue.records.action import Side
from duologue.records.run_layout import BOT_LOGS, bot_log
from duologue.registry import domain_roots
from duologue.runner.settings import LaunchSettings

LIFELINE = "DUOLOGUE_LIFELINE"
"""Set to ``stdin`` for a launched bot: end when standard input ends."""

HOST = "127.0.0.1"
READY_LINE = re.compile(r"^ready\b.* on ws://\S+:(\d+)$")
"""What a bot prints once its models are loaded and it listens; the group is its port."""

_STOP_S = 5.0  # a bot ends its sessions in a second or two; then it is killed
_TAIL_LINES = 15  # as much of a bot's log as holds a traceback's end

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class LaunchedBot:
    """One bot process, started, watched and stopped by this one.

    ``port`` is 0 until the bot says which free port it took; a bot that is started again keeps its port.
    """

    side: Side
    config: Path
    log_path: Path
    token: str | None = field(default=None, repr=False)
    command: tuple[str, ...] = ()
    port: int = 0
    _process: asyncio.subprocess.Process | None = None
    _pump: asyncio.Task[None] | None = None
    _ready: asyncio.Event = field(default_factory=asyncio.Event)
    _tail: deque[str] = field(default_factory=lambda: deque(maxlen=_TAIL_LINES))

    @property
    def url(self) -> str:
        """Where the bot listens, once it is ready."""
        return f"ws://{HOST}:{self.port}"

    @property
    def is_alive(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.returncode is None

    async def start(self) -> None:
        """Start the process without waiting for it; its output goes to ``log_path``."""
        command = self.command or (sys.executable, str(domain_roots()[0] / "bot_server.py"))
        self._ready.clear()
        self._process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=self._environment(),
            start_new_session=True,
        )
        self._pump = asyncio.create_task(self._copy_output(self._process))
        logger.info("bot started", extra={"side": self.side.value, "pid": self._process.pid})

    async def wait_ready(self, timeout_s: float) -> None:
        """Wait until the bot says that it is ready.

        Raises:
            BotUnavailable: it ended, or said nothing within ``timeout_s`` wall seconds; with its last log lines.
        """
        if self._pump is None:
            raise BotUnavailable(f"the {self.side} bot was not started", side=self.side)
        ready = asyncio.create_task(self._ready.wait())
        try:
            await asyncio.wait({ready, self._pump}, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ready.cancel()
        if self._ready.is_set() and self.is_alive:
            logger.info("bot ready", extra={"side": self.side.value, "url": self.url})
            return
        if self._pump.done() and self._process is not None:
            what = f"ended with code {await self._process.wait()} before it was ready"
        else:
            what = f"was not ready within {timeout_s:g} s"
        tail = "\n".join(f"  {line}" for line in self._tail) or "  (no output)"
        raise BotUnavailable(
            f"the {self.side} bot ({self.config}) {what}; last lines of {self.log_path}:\n{tail}", side=self.side
        )

    async def stop(self) -> None:
        """End the process and its children: politely first, then at once. Harmless when it is gone."""
        process = self._process
        if process is None:
            return
        if process.returncode is None:
            _signal_group(process.pid, signal.SIGTERM)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_STOP_S):
                    await process.wait()
        _signal_group(process.pid, signal.SIGKILL)
        await process.wait()
        if process.stdin is not None:
            process.stdin.close()
        if self._pump is not None:
            await self._pump
        logger.info("bot stopped", extra={"side": self.side.value, "code": process.returncode})
        self._process = self._pump = None

    def _environment(self) -> dict[str, str]:
        own = {
            "SERVER_CONFIG_PATH": str(self.config.resolve()),
            "WEBSOCKET_PORT": str(self.port),
            "SERVER_HOST": HOST,
            "PYTHONUNBUFFERED": "1",
            LIFELINE: "stdin",
        }
        if self.token:
            own["DUOLOGUE_TOKEN"] = self.token
        return {**os.environ, **own}

    async def _copy_output(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        with self.log_path.open("ab", buffering=0) as log:
            while line := await _read_line(process.stdout):
                log.write(line)
                text = line.decode("utf-8", "replace").rstrip()
                self._tail.append(text)
                if ready := READY_LINE.match(text):
                    self.port = int(ready.group(1))
                    self._ready.set()


async def _read_line(stream: asyncio.StreamReader) -> bytes:
    """Return the next line, in pieces when it is longer than the stream's buffer; empty at the end."""
    try:
        return await stream.readuntil(b"\n")
    except asyncio.IncompleteReadError as error:
        return error.partial
    except asyncio.LimitOverrunError as error:
        return await stream.readexactly(error.consumed)


def _signal_group(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


@dataclass(slots=True)
class LaunchedBots:
    """The bots of a run, by side."""

    bots: Mapping[Side, LaunchedBot]
    ready_timeout_s: float

    async def ensure_running(self) -> None:
        """Start each bot that does not run, all at once, and wait until they are ready.

        Raises:
            BotUnavailable: see :meth:`LaunchedBot.wait_ready`.
        """
        started = [bot for bot in self.bots.values() if not bot.is_alive]
        for bot in started:
            await bot.stop()
            await bot.start()
        await asyncio.gather(*(bot.wait_ready(self.ready_timeout_s) for bot in started))

    async def stop(self) -> None:
        """Stop all."""
        await asyncio.gather(*(bot.stop() for bot in self.bots.values()))


@asynccontextmanager
async def launched_bots(
    settings: LaunchSettings, run_dir: Path, *, token: str | None = None, sides: Iterable[Side] = tuple(Side)
) -> AsyncIterator[LaunchedBots]:
    """Run the bots of ``sides`` for the length of the block; their output goes to ``bot_logs/`` in ``run_dir``.

    Raises:
        ConfigError: a configuration file does not exist.
        BotUnavailable: a bot did not become ready.
    """
    configs = {side: settings.config(side) for side in sides}
    for side, config in configs.items():
        if not config.is_file():
            raise ConfigError(f"--{side}-config {config}: no such file")
    logs = run_dir / BOT_LOGS
    logs.mkdir(exist_ok=True)
    bots = {side: LaunchedBot(side, config, logs / bot_log(side), token) for side, config in configs.items()}
    launched = LaunchedBots(bots, settings.ready_timeout_s)
    try:
        await launched.ensure_running()
        yield launched
    finally:
        await launched.stop()
