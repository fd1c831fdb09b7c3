"""A model on the real-time path: no session clock, replies passed on as they stream in."""

import asyncio

import pytest
from pipecat.processors.aggregators.llm_context import LLMContext

from duologue.bots.brains.openai import HeldOpenAI, build_openai
from duologue.bots.brains.retry import ModelError
from duologue.bots.context import ScenarioState
from duologue.config import LlmConfig
from duologue.testing.model_script import ModelCall, ModelReply, parse_fault, scripted
from duologue.testing.openai_server import ModelServer

pytestmark = pytest.mark.socket

REPLY = ModelReply("<think>Hm.</think>First **one**. Second one.", (ModelCall("f", '{"a": 1}', "x"),))


@pytest.fixture
def pushed(monkeypatch):
    """What the service pushes downstream."""
    frames = []

    async def push(_, frame, *args):
        frames.append(frame.data)

    monkeypatch.setattr(HeldOpenAI, "push_frame", push)
    return frames


async def read(server: ModelServer, **llm) -> list:
    config = LlmConfig.model_validate({"type": "openai", "model": "m", "base_url": server.url, **llm})
    service = build_openai(config, ScenarioState(), function_call_timeout_s=5)
    try:
        context = LLMContext(messages=[{"role": "user", "content": "Hello"}])
        stream = await service.get_chat_completions(context)
        return [choice.delta async for chunk in stream for choice in chunk.choices]
    finally:
        await service.cleanup()


async def test_reply_is_passed_on_sentence_by_sentence(pushed):
    with ModelServer(scripted([REPLY])) as server:
        deltas = await read(server)
    assert [delta.content for delta in deltas[:2]] == ["First one. ", "Second one. "]
    assert deltas[2].tool_calls[0].function.name == "f"


async def test_fault_before_the_first_words_is_repeated(pushed):
    with ModelServer(scripted([REPLY, REPLY]), [parse_fault("429=0.05@1")]) as server:
        assert len(await read(server)) == 3
    assert len(server.requests) == 2 and pushed == []


async def test_reply_cut_after_its_first_words_is_not_repeated(pushed):
    server = ModelServer(scripted([REPLY] * 3), [parse_fault("cut@1x9")], chunk_chars=40)
    with server, pytest.raises(ModelError):
        await read(server)
    assert len(server.requests) == 1
    assert pushed[0]["fatal"] is True


async def test_hanging_model_is_given_up_in_real_time(pushed):
    server = ModelServer(scripted([]), [parse_fault("hang@1")])
    with server, pytest.raises(ModelError, match=r"within 0\.3 s"):
        async with asyncio.timeout(3):
            await read(server, request_timeout_s=0.3)
