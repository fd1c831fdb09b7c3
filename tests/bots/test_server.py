import asyncio
import gc
import socket

import pytest
from pipecat.frames.protobufs import frames_pb2
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosedError, InvalidStatus
from websockets.typing import Origin

from duologue.bots.media_clock import SessionClock
from duologue.bots.pipeline import SessionPipeline
from duologue.bots.server import bound_socket
from duologue.brains.reply import BrainCall, BrainReply
from duologue.config import BotConfig
from duologue.errors import ConfigError
from tests.bots.running_bot import initial_state, scenario_start
from tests.bots.wire_client import WireClient
from tests.present import present

pytestmark = [pytest.mark.socket, pytest.mark.speech]

GUARDED = {"port": 0, "auth_token": "open sesame"}


async def test_a_token_is_required_when_one_is_set(start_bot):
    bot = start_bot(server=GUARDED)
    for headers in ({}, {"Authorization": "Bearer wrong"}):
        with pytest.raises(InvalidStatus) as refused:
            await connect(bot.url, additional_headers=headers)
        assert refused.value.response.status_code == 401


@pytest.mark.parametrize(
    ("query", "headers"), [("", {"Authorization": "Bearer open sesame"}), ("/?token=open%20sesame", {})]
)
async def test_a_token_comes_in_the_header_or_in_the_query(start_bot, query, headers):
    bot = start_bot(server=GUARDED)
    async with connect(bot.url + query, additional_headers=headers) as socket:
        assert (await WireClient(socket).ready())["type"] == "bot-ready"


async def test_a_page_of_another_origin_is_refused(start_bot):
    bot = start_bot(server={"port": 0, "allowed_origins": ["https://ours.example"]})
    with pytest.raises(InvalidStatus) as refused:
        await connect(bot.url, origin=Origin("https://theirs.example"))
    assert refused.value.response.status_code == 403
    async with connect(bot.url, origin=Origin("https://ours.example")) as socket:
        assert await WireClient(socket).ready()


async def test_a_client_beyond_the_limit_is_told_to_come_back(start_bot):
    bot = start_bot(server={"port": 0, "max_sessions": 1})
    async with bot.client() as first:
        await first.ready()
        with pytest.raises(ConnectionClosedError) as refused:
            async with bot.client() as second:
                await second.ready()
        assert present(refused.value.rcvd).code == 1013
        await first.tick()
    for _ in range(50):
        try:
            async with bot.client() as third:
                await third.ready()
            return
        except ConnectionClosedError:
            await asyncio.sleep(0.02)
    pytest.fail("the place was not given back")


def audio_frame(**fields):
    frame = frames_pb2.Frame()
    frame.audio.audio, frame.audio.sample_rate, frame.audio.num_channels = bytes(640), 16000, 1
    for name, value in fields.items():
        setattr(frame.audio, name, value)
    return frame.SerializeToString()


def message_frame(text):
    frame = frames_pb2.Frame()
    frame.message.data = text
    return frame.SerializeToString()


@pytest.mark.parametrize(
    ("data", "code"),
    [
        ("text", 1003),
        (b"\xff\xff\xff", 1007),
        (message_frame("{"), 1007),
        (message_frame("[]"), 1007),
        (message_frame("[" * 100_000), 1007),
        (message_frame('{"id": ' + "[" * 500 + "]" * 500 + "}"), 1007),
        (message_frame('{"id": ' + "9" * 5000 + "}"), 1007),
        (message_frame('{"id": NaN}'), 1007),
        (message_frame('{"id": 1e999}'), 1007),
        (audio_frame(sample_rate=8000), 1007),
        (audio_frame(audio=bytes(512)), 1007),
        (audio_frame(num_channels=2), 1007),
        (message_frame("x" * 1_100_000), 1009),
    ],
)
async def test_bad_input_closes_that_connection_only(start_bot, data, code):
    bot = start_bot()
    async with bot.client() as good, bot.client() as bad:
        await good.ready()
        await bad.socket.send(data)
        with pytest.raises(ConnectionClosedError) as closed:
            await bad.receive()
        assert present(closed.value.rcvd).code == code
        await good.tick()


async def test_a_wrong_label_or_type_is_no_reason_to_close(start_bot):
    async with start_bot().client() as client:
        await client.ready()
        await client.socket.send(message_frame('{"label": "other", "type": "x"}'))
        answer = await client.answer_to(await client.send("sing", {}))
        await client.tick()
    assert answer["type"] == "error-response"


async def test_a_client_can_only_end_its_own_session(start_bot):
    bot = start_bot()
    async with bot.client() as stays, bot.client() as leaves:
        await stays.ready()
        await leaves.ready()
        await leaves.send("disconnect-bot")
        await leaves.socket.wait_closed()
        assert leaves.socket.close_code == 1000
        await stays.tick()


async def test_ten_sessions_in_a_row_leave_nothing_behind(start_bot):
    bot = start_bot(lambda messages, tools: BrainReply("Hello there, this is a test."))

    async def counts(tasks=0):
        future = asyncio.run_coroutine_threadsafe(counts_at_rest(tasks), bot.loop)
        return await asyncio.wrap_future(future)

    idle_tasks, _ = await counts()

    async def session():
        async with bot.scenario(tools=("find_account",)) as client:
            await client.send("send-text", {"content": "Hello", "options": {"run_immediately": True}})
            await client.wait(0.3)

    await session()
    before = await counts(idle_tasks)
    for _ in range(10):
        await session()
    assert await counts(idle_tasks) == before == (idle_tasks, before[1])


async def counts_at_rest(tasks):
    """The running tasks and the kept session objects, once there are no more than ``tasks`` or after 5 s."""
    for _ in range(250):
        if len(asyncio.all_tasks()) <= tasks or not tasks:
            break
        await asyncio.sleep(0.02)
    gc.collect()
    kept = [item for item in gc.get_objects() if isinstance(item, SessionClock | SessionPipeline)]
    return len(asyncio.all_tasks()), len(kept)


@pytest.mark.parametrize("order", [("one", "two"), ("two", "one")])
async def test_facts_of_one_scenario_are_unknown_in_the_next(start_bot, order):
    seen = []

    def decide(messages, tools):
        seen.append(str(messages))
        return BrainReply("", (BrainCall("find_account", {"phone": "1"}),) if "tool" not in str(messages) else ())

    async with start_bot(decide).client() as client:
        await client.ready()
        for name in order:
            await client.ask("update_system_prompt", {**scenario_start(epoch=name), "prompt": f"secret {name}"})
            await client.ask("apply_initialization", initial_state("heating/db"))
            await client.send("send-text", {"content": f"fact {name}", "options": {"run_immediately": True}})
            await client.wait(0.5)
    first, second = order
    assert f"fact {first}" in seen[0]
    later = [text for text in seen if f"fact {second}" in text]
    assert later
    assert not any(f"fact {first}" in text or f"secret {first}" in text for text in later)


def test_a_port_in_use_is_named():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"server.port {port} on 127.0.0.1 is in use"):
            bound_socket(BotConfig.model_validate({"server": {"port": port}}))


async def test_small_messages_leave_at_once():
    accepted = asyncio.get_running_loop().create_future()

    def meet(reader, writer):
        accepted.set_result(writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
        writer.close()

    async with await asyncio.start_server(
        meet, sock=bound_socket(BotConfig.model_validate({"server": {"port": 0}}))
    ) as server:
        _, writer = await asyncio.open_connection(*server.sockets[0].getsockname()[:2])
        assert await accepted
        writer.close()
        await writer.wait_closed()
