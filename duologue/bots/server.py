"""The WebSocket server of a bot: many sessions in one process, each on its own clock."""

from __future__ import annotations

import asyncio
import errno
import hmac
import http
import logging
import signal
import socket
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from urllib.parse import parse_qs, urlsplit

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from duologue.bots.logs import bridge_loguru
from duologue.bots.media_clock import VirtualLoop
from duologue.bots.services import Models, load_models
from duologue.bots.session import MAX_MESSAGE_BYTES, BadInput, Session
from duologue.config import BotConfig
from duologue.errors import ConfigError

logger = logging.getLogger(__name__)

_TRY_AGAIN_LATER = 1013  # close codes of the WebSocket registry at IANA
_INTERNAL_ERROR = 1011  # RFC 6455
_REASON_BYTES = 120  # RFC 6455 allows 123 bytes
_WARM_UP_TICKS = 10  # a session's first ticks, in which Pipecat and the models load what they load late


def run_bot(config: BotConfig, on_ready: Callable[[str], None]) -> None:
    """Load the models and serve until SIGINT or SIGTERM.

    Args:
        config: the bot's settings.
        on_ready: called once with a line that says where the bot listens.

    Raises:
        ConfigError: the address cannot be used, or a model is missing.
        BotStateError: a bot in real time lost its pipeline.
    """
    for chatty in ("websockets", "faster_whisper"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    if config.server.log_level == "DEBUG":
        bridge_loguru("DEBUG")
    in_real_time = config.transport.type == "websocket"
    with asyncio.Runner(loop_factory=None if in_real_time else VirtualLoop) as runner:
        runner.run(_serve_until_signalled(config, on_ready))


async def _serve_until_signalled(config: BotConfig, on_ready: Callable[[str], None]) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    listener = bound_socket(config)
    with listener:
        models = load_models(config)
        if config.transport.type == "websocket":
            await _serve_in_real_time(config, models, listener, stop, on_ready)
            return
        await warm_up(config, models)
        if stop.is_set():
            return
        async with BotServer(config, models).listen(listener) as server:
            on_ready(_ready_line(config, server))
            await stop.wait()


async def _serve_in_real_time(
    config: BotConfig, models: Models, listener: socket.socket, stop: asyncio.Event, on_ready: Callable[[str], None]
) -> None:
    # Imported here, because a bot in lock-step does without Pipecat's server.
    from duologue.bots.websocket_bot import WebsocketBot

    models.warm_up()
    bot = WebsocketBot(config, models, listener, token_check(config))
    async with bot.serving() as server:
        on_ready(_ready_line(config, server))
        waits = {asyncio.create_task(stop.wait()), asyncio.create_task(bot.ended())}
        done, pending = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for task in pending:
            task.cancel()
        done.pop().result()


def bound_socket(config: BotConfig) -> socket.socket:
    """Return a socket bound to the configured address; it accepts nobody yet.

    Raises:
        ConfigError: the address is taken or not ours.
    """
    host, port = config.server.host, config.server.port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sends small messages at once only on sockets that name their protocol. Without it a tick that
    # sends a message and then its sound would wait 40 ms for the peer's delayed acknowledgement.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise ConfigError(
                f"server.port {port} on {host} is in use; stop the other process, or choose another port "
                "with --port or WEBSOCKET_PORT"
            ) from error
        raise ConfigError(f"server.host {host!r}, server.port {port}: {error.strerror or error}") from error
    return listener


def _ready_line(config: BotConfig, server: Server) -> str:
    host, port = server.sockets[0].getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    return f"ready: {config.server.name} bot ({config.llm.name}) on ws://{shown}:{port}"


async def warm_up(config: BotConfig, models: Models) -> None:
    """Run one session that nobody hears, so that the first client does not wait for lazy imports."""
    models.warm_up()
    session = Session(config, models)
    await session.open()
    await session.close()


def token_check(config: BotConfig) -> Callable[[ServerConnection, Request], Response | None]:
    """Return what refuses an opening request without the bot's token, when it has one."""

    def check(connection: ServerConnection, request: Request) -> Response | None:
        token = config.server.auth_token
        if token is None:
            return None
        given = request.headers.get("Authorization", "").removeprefix("Bearer ")
        given = given or parse_qs(urlsplit(request.path).query).get("token", [""])[0]
        if hmac.compare_digest(given.encode(), token.get_secret_value().encode()):
            return None
        return connection.respond(http.HTTPStatus.UNAUTHORIZED, "a valid token is required\n")

    return check


class BotServer:
    """Accepts clients and gives each a session; ``sessions`` is how many there are.

    Args:
        config: the bot's settings.
        models: the process's models.
    """

    def __init__(self, config: BotConfig, models: Models) -> None:
        self._config = config
        self._models = models
        self.sessions = 0

    def listen(self, listener: socket.socket) -> AbstractAsyncContextManager[Server]:
        """Return the server on a bound socket, to be entered as an async context."""
        return serve(
            self._handle,
            sock=listener,
            origins=[None, *self._config.server.allowed_origins],  # type: ignore[list-item]
            process_request=token_check(self._config),
            compression=None,
            ping_interval=None,
            max_size=MAX_MESSAGE_BYTES,
        )

    async def _handle(self, connection: ServerConnection) -> None:
        if self.sessions >= self._config.server.max_sessions:
            await connection.close(_TRY_AGAIN_LATER, f"all {self._config.server.max_sessions} sessions are taken")
            return
        self.sessions += 1
        try:
            await self._converse(connection)
        except ConnectionClosed:
            pass
        except Exception:
            logger.exception("a session failed")
            await connection.close(_INTERNAL_ERROR, "internal error; see the bot's log")
        finally:
            self.sessions -= 1

    async def _converse(self, connection: ServerConnection) -> None:
        session = Session(self._config, self._models)
        await session.open()
        gone = asyncio.create_task(_when_gone(connection, session))
        try:
            async for data in connection:
                await session.take(data, connection)
                if session.end is not None:
                    await connection.close(*session.end)
        except BadInput as error:
            logger.warning("closed the connection of %s: %s", connection.remote_address, error)
            await connection.close(error.code, str(error)[:_REASON_BYTES])
        finally:
            gone.cancel()
            session.give_up()
            await session.close()


async def _when_gone(connection: ServerConnection, session: Session) -> None:
    """Free a session that is waiting for a model when its client leaves."""
    await connection.wait_closed()
    session.give_up()
