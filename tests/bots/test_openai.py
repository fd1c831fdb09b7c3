import asyncio
import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from websockets.exceptions import ConnectionClosedError

from tests.bots.running_bot import scenario_start

pytestmark = [pytest.mark.socket, pytest.mark.speech]


class StubModel(BaseHTTPRequestHandler):
    """A streaming ``/v1/chat/completions``: calls the first tool once, then says a word."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append((self.headers["Authorization"], body))
        self.server.asked.set()
        self.server.gate.wait(30)
        if self.server.status != 200:
            self.send_error(self.server.status)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        lines = [f"data: {json.dumps(chunk)}" for chunk in self.chunks(body)]
        with contextlib.suppress(BrokenPipeError):
            self.wfile.write("\n\n".join([*lines, "data: [DONE]", ""]).encode())

    def chunks(self, body):
        asks = body.get("tools") and not any(message["role"] == "tool" for message in body["messages"])
        call = {
            "index": 0,
            "id": "abc",
            "type": "function",
            "function": {"name": "set_target", "arguments": '{"celsius": 22}'},
        }
        for delta in [{"tool_calls": [call]}] if asks else [{"content": "It is "}, {"content": "done."}]:
            yield {
                "id": "1",
                "object": "chat.completion.chunk",
                "created": 1,
                "model": body["model"],
                "choices": [{"index": 0, "delta": delta, "finish_reason": None}],
            }
        yield {
            "id": "1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": body["model"],
            "choices": [],
            "usage": {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14},
        }

    def log_message(self, *_):
        pass


@pytest.fixture
def model():
    server = ThreadingHTTPServer(("127.0.0.1", 0), StubModel)
    server.requests, server.asked, server.gate, server.status = [], threading.Event(), threading.Event(), 200
    server.gate.set()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.gate.set()
    server.shutdown()
    thread.join()
    server.server_close()


def llm(model, **settings):
    url = f"http://127.0.0.1:{model.server_address[1]}/v1"
    return {"type": "openai", "model": "tiny", "base_url": url, "api_key": "key", "charge": "fixed:300", **settings}


@contextlib.asynccontextmanager
async def call(bot):
    async with bot.client() as client:
        await client.ready()
        assert await client.ask("update_system_prompt", scenario_start(tools=("set_target",))) is True
        await client.ask("apply_initialization", {"shared_state_init": json.dumps({"db_path": "heating/user_db"})})
        await client.send("send-text", {"content": "Hello", "options": {"run_immediately": True}})
        yield client


async def test_a_model_behind_http_speaks_and_calls_tools(start_bot, model):
    async with call(start_bot(llm=llm(model, temperature=0.0, extra_body={"top_k": 1}))) as client:
        await client.until("bot-stopped-speaking")
    assert client.spoken() == "It is done. "
    assert [push["action"]["arguments"] for push in client.pushes("action-applied")] == [{"celsius": 22}]
    authorization, first = model.requests[0]
    assert authorization == "Bearer key"
    assert (first["model"], first["temperature"], first["top_k"]) == ("tiny", 0.0, 1)
    assert first["messages"] == [{"role": "system", "content": "You are a test."}, {"role": "user", "content": "Hello"}]
    assert [tool["function"]["name"] for tool in first["tools"]] == ["set_target"]
    assert json.loads(model.requests[1][1]["messages"][-1]["content"]) == {"target_c": 22}


async def test_tokens_of_every_request_are_reported(start_bot, model):
    async with call(start_bot(llm=llm(model))) as client:
        await client.until("bot-stopped-speaking")
    tokens = [tokens for data in client.of("metrics") for tokens in data.get("tokens", [])]
    assert [(item["prompt_tokens"], item["completion_tokens"]) for item in tokens] == [(11, 3), (11, 3)]


async def test_a_request_costs_its_fixed_charge_of_session_time(start_bot, model):
    async with call(start_bot(llm=llm(model))) as client:
        await client.until("bot-started-speaking")
    assert 2 * 15 <= client.ticks <= 2 * 15 + 4


async def test_a_refusing_server_is_reported_as_an_error(start_bot, model):
    model.status = 400
    async with call(start_bot(llm=llm(model))) as client:
        error = await client.until("error", seconds=2)
    assert "Error during completion" in error["data"]["error"]


async def test_a_slow_server_is_given_up_after_the_real_timeout(start_bot, model):
    model.gate.clear()
    async with call(start_bot(llm=llm(model, request_timeout_s=0.3))) as client:
        error = await client.until("error", seconds=2)
    assert "Request timed out" in error["data"]["error"]


async def test_a_client_that_leaves_frees_a_session_waiting_for_the_model(start_bot, model):
    model.gate.clear()
    bot = start_bot(llm=llm(model))
    async with call(bot):
        assert await asyncio.to_thread(model.asked.wait, 5)
        assert bot.server.sessions == 1
    for _ in range(250):
        if bot.server.sessions == 0:
            break
        await asyncio.sleep(0.02)
    assert bot.server.sessions == 0


async def test_a_wrong_key_ends_the_session_with_an_error(start_bot, model):
    model.status = 401
    with pytest.raises(ConnectionClosedError) as closed:
        async with call(start_bot(llm=llm(model))) as client:
            await client.wait(2)
    assert closed.value.rcvd.code == 1011
    assert any("401" in data["error"] for data in client.of("error"))
