import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from duologue.errors import ConfigError
from duologue.records.action import Side
from duologue.talk.desk import Desk
from duologue.talk.phone_line import PhoneLine
from duologue.talk.server import MAX_BODY_BYTES, TAKEN, TalkServer
from tests.talk.stage import shop_desk

pytestmark = pytest.mark.socket


class EchoLine(PhoneLine):
    async def answer(self, sdp: str) -> str:
        return f"answer to {sdp}"


def desk() -> Desk:
    return shop_desk(Side.USER, EchoLine())


@asynccontextmanager
async def opened(table: Desk) -> AsyncIterator[tuple[TalkServer, aiohttp.ClientWebSocketResponse]]:
    """Serve ``table`` and open its page."""
    async with (
        TalkServer(table) as server,
        aiohttp.ClientSession() as client,
        client.ws_connect(server.url + "api/live") as page,
    ):
        yield server, page


async def get(url: str, **options: Any) -> tuple[int, str]:
    async with aiohttp.ClientSession() as client, client.get(url, **options) as response:
        return response.status, await response.text()


async def offer(url: str, **options: Any) -> tuple[int, Any]:
    async with aiohttp.ClientSession() as client, client.post(f"{url}api/offer", **options) as response:
        return response.status, await response.json() if response.content_type == "application/json" else None


async def test_page_is_self_contained_and_guarded() -> None:
    async with TalkServer(desk()) as server, aiohttp.ClientSession() as client:
        for name, kind in {"": "text/html", "app.js": "text/javascript", "style.css": "text/css"}.items():
            async with client.get(server.url + name) as response:
                assert (response.status, response.content_type) == (200, kind)
                assert "default-src 'self'" in response.headers["Content-Security-Policy"]
                assert "://" not in (await response.text()).replace("http://127.0.0.1", "").replace("w3.org", "")
        assert (await get(server.url + "server.py"))[0] == 404


async def test_offer_is_answered() -> None:
    async with TalkServer(desk()) as server:
        done = await offer(server.url, json={"type": "offer", "sdp": "v=0"})
    assert done == (200, {"type": "answer", "sdp": "answer to v=0"})


async def test_what_is_no_offer_is_refused() -> None:
    async with TalkServer(desk()) as server:
        assert (await offer(server.url, json={"type": "answer"}))[0] == 400
        assert (await offer(server.url, data=b"{"))[0] == 400
        assert (await offer(server.url, data=b"x" * (MAX_BODY_BYTES + 1)))[0] == 413
    async with TalkServer(shop_desk(Side.USER, PhoneLine())) as server:
        assert await offer(server.url, json={"type": "offer", "sdp": ""}) == (
            409,
            {"error": "this line takes no offers"},
        )


async def test_other_origins_and_host_names_are_refused() -> None:
    async with TalkServer(desk()) as server:
        assert (await get(server.url, headers={"Origin": "http://evil.example"}))[0] == 403
        assert (await get(server.url, headers={"Host": "evil.example"}))[0] == 403
        assert (await get(server.url, headers={"Origin": server.url.rstrip("/")}))[0] == 200


async def test_token_is_asked_of_everything_but_files() -> None:
    async with TalkServer(desk(), token="secret-1") as server:
        base = server.url.split("?")[0]
        body = {"type": "offer", "sdp": ""}
        assert (await offer(base, json=body))[0] == 401
        assert (await offer(base, json=body, headers={"Authorization": "Bearer secret-2"}))[0] == 401
        assert (await offer(base, json=body, headers={"Authorization": "Bearer secret-1"}))[0] == 200
        assert (await get(base))[0] == 200
        assert server.url.endswith("/?token=secret-1")


def test_other_interfaces_need_a_token() -> None:
    with pytest.raises(ConfigError, match=r"--host 0\.0\.0\.0 is reachable from other machines"):
        TalkServer(desk(), host="0.0.0.0")


async def test_taken_port_is_named() -> None:
    async with TalkServer(desk()) as server:
        port = int(server.url.rstrip("/").rsplit(":", 1)[1])
        with pytest.raises(ConfigError, match=f"--port {port}"):
            await TalkServer(desk(), port=port).__aenter__()


async def test_page_gets_everything_so_far_and_then_what_is_new() -> None:
    table = desk()
    async with opened(table) as (_, page):
        first = [await page.receive_json() for _ in range(3)]
        assert [message["type"] for message in first] == ["session", "status", "state"]
        assert first[2]["state"]["wallet"]["coins"] == 5
        table.feed.status("talking")
        assert (await page.receive_json())["status"] == "talking"
        await page.send_json({"type": "press", "name": "pay_bill", "arguments": {}})
        assert (await page.receive_json())["type"] == "refused"


async def test_second_page_is_sent_away_and_a_reload_is_not() -> None:
    async with TalkServer(desk()) as server, aiohttp.ClientSession() as client:
        async with client.ws_connect(server.url + "api/live") as first:
            await first.receive_json()
            async with client.ws_connect(server.url + "api/live") as second:
                await second.receive()
                assert second.close_code == TAKEN
        await asyncio.sleep(0.05)
        async with client.ws_connect(server.url + "api/live") as again:
            assert (await again.receive_json())["type"] == "session"


@pytest.mark.parametrize("text", ["[]", "{", '{"type": "dance"}', '{"type": "press", "name": 1, "arguments": {}}'])
async def test_page_that_talks_nonsense_is_cut_off(text: str) -> None:
    async with opened(desk()) as (_, page):
        await page.send_str(text)
        while (await page.receive()).type is aiohttp.WSMsgType.TEXT:
            pass
        assert page.close_code == aiohttp.WSCloseCode.POLICY_VIOLATION


async def test_flush_waits_until_the_page_has_the_last_message() -> None:
    table = desk()
    async with opened(table) as (server, page):
        await page.receive_json()
        table.feed.status("ended")
        await server.flush(1.0)
        received = [await page.receive_json() for _ in range(3)]
        assert received[-1]["status"] == "ended"
