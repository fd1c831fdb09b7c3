"""The page's web server: static files, the WebRTC offer, the live WebSocket. One page at a time, nothing stored."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import json
import logging
from collections.abc import Awaitable, Callable
from importlib import resources
from typing import Any, Self
from urllib.parse import urlsplit

from aiohttp import WSCloseCode, WSMsgType, web

from duologue.config import LOOPBACK_HOSTS
from duologue.errors import ConfigError
from duologue.talk.desk import Desk
from duologue.talk.feed import Message
from duologue.talk.phone_line import LineError

MAX_BODY_BYTES = 64 * 1024  # an offer has 5 KB, a tool call less
HEARTBEAT_S = 10.0  # keeps proxies, which drop silent sockets after 30 s or more, from closing it
TAKEN = 4409
"""Close code of a page that came while another one holds the desk."""

_FILES = {
    "app.js": "text/javascript",
    "forms.js": "text/javascript",
    "style.css": "text/css",
    "icon.svg": "image/svg+xml",
}
_CLOSE_S = 2.0  # a page that is gone must not hold up the end of the program
_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; connect-src 'self' ws: wss:; media-src 'self' blob:; "
    "object-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "microphone=(self), camera=(), geolocation=()",
    "Cache-Control": "no-store",
}

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

logger = logging.getLogger(__name__)


class TalkServer:
    """Serves one desk. Use as ``async with TalkServer(desk, ...) as server: server.url``.

    Args:
        desk: what the page is about.
        host: interface; anything but loopback needs a token.
        port: 0 takes a free one.
        token: asked of every page when given, as ``Authorization: Bearer`` or ``?token=``.

    Raises:
        ConfigError: another interface without a token.
    """

    def __init__(self, desk: Desk, host: str = "127.0.0.1", port: int = 0, token: str | None = None) -> None:
        check_host(host, token)
        self._desk = desk
        self._host = host
        self._port = port
        self._token = token
        self._socket: web.WebSocketResponse | None = None
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        """The address to open, with the token."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self._port}/" + (f"?token={self._token}" if self._token else "")

    async def __aenter__(self) -> Self:
        app = web.Application(middlewares=[self._guard()], client_max_size=MAX_BODY_BYTES)
        app.router.add_get("/", self._page)
        app.router.add_get("/api/live", self._live)
        app.router.add_post("/api/offer", self._offer)
        app.router.add_get("/{name}", self._file)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=_CLOSE_S)
        await self._runner.setup()
        site = web.TCPSite(self._runner, self._host, self._port)
        try:
            await site.start()
        except OSError as error:
            await self._runner.cleanup()
            raise ConfigError(f"--port {self._port}: {error.strerror or error}; choose another port") from error
        self._port = int(self._runner.addresses[0][1])
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._socket is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_CLOSE_S):
                    await self._socket.close(code=WSCloseCode.GOING_AWAY, message=b"the call is over")
        if self._runner is not None:
            await self._runner.cleanup()

    async def flush(self, timeout_s: float) -> None:
        """Wait until the page has read what was published, for at most ``timeout_s`` of wall time."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await self._desk.feed.drained()

    def _guard(self) -> Any:
        @web.middleware
        async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
            problem = self._problem(request)
            response = web.Response(status=problem[0], text=problem[1]) if problem else await handler(request)
            if not response.prepared:
                response.headers.update(_HEADERS)
            return response

        return guard

    def _problem(self, request: web.Request) -> tuple[int, str] | None:
        """Return why a request is refused: a foreign host name or origin, or no token."""
        host = urlsplit(f"//{request.host}").hostname or ""
        if self._host in LOOPBACK_HOSTS and host not in LOOPBACK_HOSTS:
            return 403, f"open this page as http://127.0.0.1:{self._port}/"
        origin = request.headers.get("Origin")
        if origin is not None and urlsplit(origin).netloc != request.host:
            return 403, "this page takes requests from itself only"
        if self._token and request.path.startswith("/api/") and not self._has_token(request):
            return 401, "a token is needed: open the address that the terminal shows"
        return None

    def _has_token(self, request: web.Request) -> bool:
        given = request.query.get("token") or request.headers.get("Authorization", "").removeprefix("Bearer ")
        return hmac.compare_digest(given.encode(), (self._token or "").encode())

    async def _page(self, request: web.Request) -> web.Response:
        return _static("index.html", "text/html")

    async def _file(self, request: web.Request) -> web.Response:
        kind = _FILES.get(request.match_info["name"])
        if kind is None:
            raise web.HTTPNotFound(text="no such file")
        return _static(request.match_info["name"], kind)

    async def _offer(self, request: web.Request) -> web.Response:
        try:
            offer = await request.json()
        except ValueError:
            return web.json_response({"error": "the offer is not JSON"}, status=400)
        if not isinstance(offer, dict) or offer.get("type") != "offer" or not isinstance(offer.get("sdp"), str):
            return web.json_response({"error": "an offer has type and sdp"}, status=400)
        try:
            sdp = await self._desk.line.answer(offer["sdp"])
        except LineError as error:
            return web.json_response({"error": str(error)}, status=409)
        return web.json_response({"type": "answer", "sdp": sdp})

    async def _live(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(heartbeat=HEARTBEAT_S, max_msg_size=MAX_BODY_BYTES, compress=False)
        await socket.prepare(request)
        if self._socket is not None and not self._socket.closed:
            await socket.close(code=TAKEN, message=b"another page holds this call")
            return socket
        self._socket = socket
        reader = self._desk.feed.subscribe()
        sender = asyncio.create_task(self._send(socket, self._desk.feed.history(), reader), name="page sender")
        try:
            async for message in socket:
                if message.type is WSMsgType.TEXT and not self._take(message.data):
                    await socket.close(code=WSCloseCode.POLICY_VIOLATION, message=b"not a message of this page")
        finally:
            self._desk.feed.unsubscribe(reader)
            sender.cancel()
            await asyncio.wait([sender])
            if self._socket is socket:
                self._socket = None
        return socket

    def _take(self, text: str) -> bool:
        try:
            self._desk.take(json.loads(text))
        except ValueError as error:
            logger.warning("refused a message of the page", extra={"error": str(error)})
            return False
        return True

    async def _send(
        self, socket: web.WebSocketResponse, history: list[Message], reader: asyncio.Queue[Message | None]
    ) -> None:
        with contextlib.suppress(ConnectionError):
            for message in history:
                await socket.send_json(message)
            while (latest := await reader.get()) is not None:
                await socket.send_json(latest)
                reader.task_done()
            await socket.close()


def check_host(host: str, token: str | None) -> None:
    """Refuse an interface that others reach without a token.

    Raises:
        ConfigError: as said.
    """
    if host not in LOOPBACK_HOSTS and not token:
        raise ConfigError(
            f"--host {host} is reachable from other machines; set DUOLOGUE_TOKEN or --auth-token, or leave it out"
        )


def _static(name: str, kind: str) -> web.Response:
    text = resources.files("duologue.talk").joinpath("page", name).read_text(encoding="utf-8")
    return web.Response(text=text, content_type=kind)
