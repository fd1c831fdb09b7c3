import asyncio
import contextlib
import json

import pytest

from duologue.bots.brains.openai import TOO_MANY_ROUNDS
from duologue.testing.model_script import FaultKind, ModelCall, ModelFault, ModelReply, scripted
from duologue.testing.openai_server import ModelServer
from tests.bots.running_bot import scenario_start

pytestmark = [pytest.mark.socket, pytest.mark.speech]

SET_22 = ModelReply(calls=(ModelCall("set_target", '{"celsius": 22}', "abc"),))
DONE = ModelReply("It is done.")


@pytest.fixture
def serve():
    """Start a model server that gives these replies."""
    with contextlib.ExitStack() as stack:

        def start(*replies, **options):
            return stack.enter_context(ModelServer(scripted(replies or (SET_22, DONE)), **options))

        yield start


def llm(model, **settings):
    given = {"model": "tiny", "base_url": model.url, "api_key": "key", "charge": "fixed:300", "retries": 0}
    return {"type": "openai", **given, **settings}


@contextlib.asynccontextmanager
async def call(bot, *, tools=("set_target",), epoch="e1"):
    async with bot.client() as client:
        await client.ready()
        assert await client.ask("update_system_prompt", scenario_start(tools=tools, epoch=epoch)) is True
        await client.ask("apply_initialization", {"shared_state_init": json.dumps({"db_path": "heating/user_db"})})
        await client.send("send-text", {"content": "Hello", "options": {"run_immediately": True}})
        yield client


async def spoken(bot, **options):
    """Everything the bot says, and its client."""
    async with call(bot, **options) as client:
        await client.until("bot-stopped-speaking")
    return client.spoken().strip(), client


async def fatal(client):
    """The push that says that the bot cannot go on."""
    await client.until("error", seconds=3)
    (push,) = [push for push in client.pushes("bot-error") if push.get("fatal")]
    return push["message"]


async def test_a_model_behind_http_speaks_and_calls_tools(start_bot, serve):
    model = serve()
    text, client = await spoken(start_bot(llm=llm(model, temperature=0.0, top_p=0.5, extra_body={"top_k": 1})))
    assert text == "It is done."
    assert [push["action"]["arguments"] for push in client.pushes("action-applied")] == [{"celsius": 22}]
    first = model.requests[0]
    assert (first.authorization, first.epoch) == ("Bearer key", "e1")
    assert (first.body["temperature"], first.body["top_p"], first.body["top_k"]) == (0.0, 0.5, 1)
    assert first.messages == [{"role": "system", "content": "You are a test."}, {"role": "user", "content": "Hello"}]
    assert first.tools == ["set_target"]
    assert json.loads(model.requests[1].messages[-1]["content"]) == {"target_c": 22}


async def test_parallel_calls_of_one_reply_run_one_after_the_other(start_bot, serve):
    calls = (ModelCall("set_target", '{"celsius": 19}', "a"), ModelCall("set_target", '{"celsius": 21}', "b"))
    _, client = await spoken(start_bot(llm=llm(serve(ModelReply(calls=calls), DONE))))
    actions = [push["action"] for push in client.pushes("action-applied")]
    assert [(action["seq"], action["arguments"]["celsius"]) for action in actions] == [(1, 19), (2, 21)]


async def test_calls_of_one_id_are_told_apart(start_bot, serve):
    _, client = await spoken(start_bot(llm=llm(serve(SET_22, SET_22, DONE))))
    ids = [data["tool_call_id"] for data in client.of("llm-function-call-in-progress")]
    assert len(client.pushes("action-applied")) == 2
    assert ids[0] == "abc" and len(set(ids)) == 2


async def test_reasoning_markdown_and_emoji_are_neither_spoken_nor_kept(start_bot, serve):
    reply = ModelReply("<think>The caller is **cold**.</think># Done 🎉\nIt is **22** degrees.", reasoning="Hm.")
    bot = start_bot(llm=llm(serve(reply)))
    async with call(bot) as client:
        await client.until("bot-stopped-speaking")
        history = await client.ask("get_context_history")
    assert client.spoken().split() == ["Done.", "It", "is", "22", "degrees."]
    assert "cold" not in history["context"] and "**" not in history["context"] and "Hm." not in history["context"]


async def test_a_reply_of_reasoning_alone_is_reported(start_bot, serve):
    bot = start_bot(llm=llm(serve(ModelReply("<think>Hm", finish_reason="length"))))
    async with call(bot) as client:
        push = await client.until("server-message", seconds=3)
    assert (
        push["data"]["message"]
        == "the model's reply held 2 characters of reasoning and no answer (finish_reason length)"
    )


@pytest.mark.parametrize("value", ["2", "NaN}", "-1e999}", "9" * 5000 + "}", "[" * 2000 + "]" * 2000 + "}"])
async def test_arguments_that_are_not_json_are_answered(start_bot, serve, value):
    arguments = f'{{"celsius": {value}'
    model = serve(ModelReply(calls=(ModelCall("set_target", arguments, "a"),)), DONE)
    text, client = await spoken(start_bot(llm=llm(model)))
    answer = json.loads(model.requests[1].messages[-1]["content"])
    assert answer["error_type"] == "invalid_arguments" and arguments[:50] in answer["message"]
    assert text == "It is done." and not client.pushes("action-applied")


async def test_a_tool_that_does_not_exist_is_answered(start_bot, serve):
    model = serve(ModelReply(calls=(ModelCall("fly", "{}", "a"),)), DONE)
    await spoken(start_bot(llm=llm(model)))
    answer = json.loads(model.requests[1].messages[-1]["content"])
    assert (answer["error_type"], answer["available_tools"]) == ("unknown_tool", ["set_target"])


async def test_a_call_written_as_text_is_made(start_bot, serve):
    written = '<tool_call>\n{"name": "set_target", "arguments": {"celsius": 18}}\n</tool_call>'
    _, client = await spoken(start_bot(llm=llm(serve(ModelReply(written), DONE))))
    assert [push["action"]["arguments"] for push in client.pushes("action-applied")] == [{"celsius": 18}]


async def test_a_model_that_only_calls_tools_is_stopped(start_bot, serve):
    model = serve(*[SET_22] * 9)
    text, client = await spoken(start_bot(llm=llm(model, max_tool_rounds=3)))
    assert text == TOO_MANY_ROUNDS
    assert len(model.requests) == 3
    assert [push["message"] for push in client.pushes("bot-error")] == [
        "the model answered one turn with 3 rounds of tool calls (llm.max_tool_rounds)"
    ]


async def test_tokens_of_every_request_are_reported(start_bot, serve):
    _, client = await spoken(start_bot(llm=llm(serve())))
    tokens = [tokens for data in client.of("metrics") for tokens in data.get("tokens", [])]
    assert [item["completion_tokens"] for item in tokens] == [3, 3]
    assert all(item["prompt_tokens"] > 0 for item in tokens)


async def test_a_request_costs_its_fixed_charge_of_session_time(start_bot, serve):
    async with call(start_bot(llm=llm(serve()))) as client:
        await client.until("bot-started-speaking")
    assert 2 * 15 <= client.ticks <= 2 * 15 + 4


async def test_a_measured_reply_takes_as_long_as_it_took(start_bot, serve):
    async with call(start_bot(llm=llm(serve(DONE, first_token_s=0.5), charge="measured"))) as client:
        await client.until("bot-started-speaking")
    assert 25 <= client.ticks <= 40


async def test_a_seeded_charge_follows_the_attempt(start_bot, serve):
    charge = "seeded:lognormal(mean_ms=600,sigma=0.4)"
    ticks = []
    for epoch in ("one", "one", "two"):
        async with call(start_bot(llm=llm(serve(DONE), charge=charge)), epoch=epoch) as client:
            await client.until("bot-started-speaking")
        ticks.append(client.ticks)
    assert ticks[0] == ticks[1] != ticks[2]


@pytest.mark.parametrize(
    "fault",
    [
        ModelFault(FaultKind.TOO_MANY, 1, seconds=0.05),
        ModelFault(FaultKind.SERVER_ERROR, 1),
        ModelFault(FaultKind.CUT, 1),
    ],
)
async def test_a_passing_fault_is_outlived(start_bot, serve, fault):
    model = serve(DONE, DONE, faults=[fault])
    text, client = await spoken(start_bot(llm=llm(model, retries=1)))
    assert text == "It is done."
    assert len(model.requests) == 2 and not client.pushes("bot-error")


@pytest.mark.parametrize(
    ("fault", "requests", "said"),
    [
        (ModelFault(FaultKind.TOO_MANY, 1, 9, seconds=0.05), 3, "after 3 requests: HTTP 429"),
        (ModelFault(FaultKind.TOO_MANY, 1, 9, seconds=60.0), 1, "no reply: HTTP 429"),
        (ModelFault(FaultKind.SERVER_ERROR, 1, 9), 3, "after 3 requests: HTTP 500"),
        (ModelFault(FaultKind.HANG, 1, 9), 1, "no whole reply within 2 s (llm.request_timeout_s)"),
    ],
)
async def test_a_lasting_fault_ends_what_the_bot_can_do(start_bot, serve, fault, requests, said):
    model = serve(faults=[fault])
    async with call(start_bot(llm=llm(model, retries=2, request_timeout_s=2))) as client:
        message = await fatal(client)
    assert said in message and model.url in message
    assert len(model.requests) == requests
    assert client.spoken() == ""


async def test_a_refusal_is_not_repeated_and_the_key_stays_out_of_it(start_bot, serve):
    model = serve(api_key="another")
    async with call(start_bot(llm=llm(model, api_key="my-secret", retries=3))) as client:
        message = await fatal(client)
    assert "HTTP 401" in message and len(model.requests) == 1
    assert not any(b"my-secret" in raw for raw in client.raw)


async def test_nobody_at_the_address_is_said_so(start_bot, serve):
    async with call(start_bot(llm=llm(serve(), base_url="http://127.0.0.1:9/v1"))) as client:
        assert "connection failed" in await fatal(client)


async def test_a_preflight_says_what_is_wrong_with_the_model(start_bot, serve):
    async with start_bot(llm=llm(serve())).client() as client:
        await client.ready()
        assert await client.ask("preflight") == {"success": True, "errors": []}
    async with start_bot(llm=llm(serve(api_key="another"))).client() as client:
        await client.ready()
        answer = await client.ask("preflight")
    assert answer["success"] is False and "HTTP 401" in answer["errors"][0]


async def test_a_client_that_leaves_frees_a_session_waiting_for_the_model(start_bot, serve):
    model = serve(faults=[ModelFault(FaultKind.HANG, 1)])
    bot = start_bot(llm=llm(model))
    async with call(bot):
        assert await asyncio.to_thread(model.asked.wait, 5)
        assert bot.server.sessions == 1
    for _ in range(250):
        if bot.server.sessions == 0:
            break
        await asyncio.sleep(0.02)
    assert bot.server.sessions == 0


async def test_the_bound_of_a_grant_covers_the_model(start_bot, serve):
    async with start_bot(llm=llm(serve(), request_timeout_s=90)).client() as client:
        ready = await client.ready()
    assert ready["data"]["about"]["capabilities"]["max_tick_s"] == 95
