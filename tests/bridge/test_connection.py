import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from websockets.asyncio.server import serve

from duologue.bridge.connection import BotConnection
from duologue.clock import SystemClock
from duologue.errors import BotTimeout, BotUnavailable, ProtocolViolation
from duologue.protocol import messages
from duologue.protocol.codec import encode
from duologue.protocol.requests import StrayAnswer
from duologue.records.action import Side
from duologue.testing.scripted_bot import BotFaults, BotScript, ScriptedBot

pytestmark = pytest.mark.socket


@asynccontextmanager
async def connected(bot: ScriptedBot) -> AsyncIterator[BotConnection]:
    async with bot:
        connection = BotConnection(Side.USER, bot.url, SystemClock(), token=bot.token)
        await connection.open(1.0)
        yield connection
        await connection.close()


@asynccontextmanager
async def plain_server(serve_one: Callable[[Any, Any], Awaitable[None]]) -> AsyncIterator[str]:
    served = asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await serve_one(reader, writer)
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
        served.set()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with server:
        yield f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        await served.wait()


async def opened(url: str, timeout_s: float = 0.5) -> None:
    await BotConnection(Side.USER, url, SystemClock()).open(timeout_s)


async def test_ids_are_counted_and_answers_come_back() -> None:
    async with connected(ScriptedBot()) as connection:
        assert (await connection.handshake(1.0)).is_lockstep
        assert await connection.request(messages.reset(), 1.0) == ("reset-2", True)
        assert await connection.request(messages.reset(), 1.0) == ("reset-3", True)


async def test_late_reply_does_not_satisfy_next_request() -> None:
    bot = ScriptedBot(faults=BotFaults(late_on={"reset": 0.2}))
    async with connected(bot) as connection:
        with pytest.raises(BotTimeout) as raised:
            await connection.request(messages.reset(), 0.05)
        assert (raised.value.side, raised.value.request_id) == (Side.USER, "reset-1")
        request_id, result = await connection.request(messages.get_context_history(), 1.0)
        assert (request_id, result) == ("get_context_history-2", {"context": "'[]'"})
        assert [item.note for item in connection.queued() if isinstance(item, StrayAnswer)] == [
            "late answer to reset (id 'reset-1') dropped"
        ]


async def test_messages_of_a_tick_come_in_order_before_its_sound() -> None:
    pushed: list[messages.RtviMessage | messages.InterruptionMark] = [
        messages.RtviMessage("a"),
        messages.InterruptionMark(),
        messages.RtviMessage("b"),
    ]
    async with connected(ScriptedBot(BotScript(messages={1: pushed}))) as connection:
        first = await (await connection.start_grant(bytes(640)))
        second = await (await connection.start_grant(bytes(640)))
        assert first.inbound == () and list(second.inbound) == pushed
        assert (first.audio.pts, second.audio.pts) == (1, 2)


async def test_late_sound_of_an_abandoned_grant_is_dropped_and_the_bot_can_still_be_asked() -> None:
    script = BotScript(messages={0: [messages.RtviMessage("late")]})
    async with connected(ScriptedBot(script, BotFaults(slow_tick=(0, 0.1)))) as connection:
        abandoned = await connection.start_grant(bytes(640))
        connection.abandon_grant()
        assert await connection.request(messages.reset(), 1.0) == ("reset-1", True)
        assert abandoned.cancelled() and connection.is_usable
        assert connection.queued() == (messages.RtviMessage("late"),)


async def test_late_sound_of_an_abandoned_grant_is_not_the_answer_to_the_next() -> None:
    async with connected(ScriptedBot(faults=BotFaults(slow_tick=(0, 0.1)))) as connection:
        await connection.start_grant(bytes(640))
        connection.abandon_grant()
        second = await asyncio.wait_for(await connection.start_grant(bytes(640)), 1.0)
        assert second.audio.pts == 2


async def test_lost_connection_fails_what_waits_and_what_comes_after() -> None:
    async with connected(ScriptedBot(faults=BotFaults(dies_on=frozenset({"reset"})))) as connection:
        for _ in range(2):
            with pytest.raises(BotUnavailable, match="the user bot at ws://127"):
                await connection.request(messages.reset(), 1.0)
        assert not connection.is_usable


async def test_request_larger_than_the_peer_accepts_is_not_sent() -> None:
    async with connected(ScriptedBot()) as connection:
        with pytest.raises(ProtocolViolation, match="larger than the 1048576 bytes"):
            await connection.request(messages.apply_sync_delta("d", {"a": "x" * 2**20}, "e"), 1.0)
        assert (await connection.request(messages.reset(), 1.0))[1] is True


async def test_missing_token_is_named_with_its_remedy() -> None:
    async with ScriptedBot(token="secret") as bot:
        with pytest.raises(ProtocolViolation, match="refused us \\(HTTP 401\\); set DUOLOGUE_TOKEN"):
            await opened(bot.url)


async def test_right_token_is_let_in() -> None:
    async with connected(ScriptedBot(token="secret")) as connection:
        assert connection.is_usable


async def test_bot_that_starts_late_is_reached() -> None:
    bot = ScriptedBot()
    async with bot:
        url = bot.url
    port = int(url.rsplit(":", 1)[1])
    opening = asyncio.create_task(opened(url, 3.0))
    await asyncio.sleep(0.3)
    assert not opening.done()
    async with serve(lambda socket: socket.wait_closed(), "127.0.0.1", port) as server:
        await opening
        server.close()


async def test_nothing_listening_names_url_and_remedy() -> None:
    with pytest.raises(BotUnavailable, match=r"ws://127.0.0.1:9 \(connection refused\); start the user bot, or pass"):
        await opened("ws://127.0.0.1:9", 0.2)


async def test_program_that_is_no_websocket_is_told_apart() -> None:
    async def ssh(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-OpenSSH\r\n")
        await writer.drain()

    async with plain_server(ssh) as url:
        with pytest.raises(ProtocolViolation, match="does not speak WebSocket"):
            await opened(url)


async def test_web_server_is_told_apart() -> None:
    async def http(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()

    async with plain_server(http) as url:
        with pytest.raises(ProtocolViolation, match="is a web server but not a bot \\(HTTP 404\\)"):
            await opened(url)


async def test_silent_port_is_given_up() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with plain_server(silent) as url:
        with pytest.raises(BotUnavailable, match="does not answer as a bot"):
            await opened(url, 0.3)


async def test_address_that_is_none_is_refused() -> None:
    with pytest.raises(ProtocolViolation, match="is not a WebSocket address"):
        await opened("http://127.0.0.1:9")


@pytest.mark.parametrize(
    ("sent", "words"),
    [("hello", "a text message"), (b"\xff\xff", "not a protobuf Frame"), (b"", "an empty protobuf Frame")],
)
async def test_stranger_on_a_websocket_is_told_apart(sent: Any, words: str) -> None:
    async def stranger(socket: Any) -> None:
        await socket.send(sent)
        await socket.wait_closed()

    async with serve(stranger, "127.0.0.1", 0) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        connection = BotConnection(Side.AGENT, f"ws://127.0.0.1:{port}", SystemClock())
        await connection.open(1.0)
        with pytest.raises(ProtocolViolation, match=words):
            await connection.handshake(1.0)
        await connection.close()


async def test_sound_without_a_grant_breaks_the_contract() -> None:
    async def eager(socket: Any) -> None:
        await socket.send(encode(messages.AudioChunk(bytes(640))))
        await socket.wait_closed()

    async with serve(eager, "127.0.0.1", 0) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        connection = BotConnection(Side.AGENT, f"ws://127.0.0.1:{port}", SystemClock())
        await connection.open(1.0)
        with pytest.raises(ProtocolViolation, match="that no grant asked for"):
            await connection.handshake(1.0)
        await connection.close()


@pytest.mark.parametrize("faults", [BotFaults(), BotFaults(dies_on=frozenset({"reset"}))])
async def test_secrets_of_an_address_are_never_told(faults: BotFaults) -> None:
    async with ScriptedBot(BotScript(), faults, token="s3cret") as bot:
        connection = BotConnection(Side.USER, f"{bot.url}/?token=s3cret", SystemClock(), token="s3cret")
        await connection.open(1.0)
        told = connection.url
        try:
            await connection.request(messages.reset(), 1.0)
        except BotUnavailable as error:
            told += str(error)
        await connection.close()
    with pytest.raises(BotUnavailable, match=r"token=<redacted> \(") as refused:
        await BotConnection(Side.USER, "ws://u:s3cret@127.0.0.1:1/?token=s3cret", SystemClock()).open(0.1)
    assert "s3cret" not in told + str(refused.value)
