import json
from typing import Any

from openai.types.chat import ChatCompletionChunk

from duologue.bots.brains.model_reply import ReplyReader
from duologue.bots.tool_calls import MALFORMED_ARGUMENTS


def chunk(finish: str | None = None, usage: dict[str, int] | None = None, **delta: Any) -> ChatCompletionChunk:
    choices = [{"index": 0, "delta": delta, "finish_reason": finish}] if usage is None else []
    return ChatCompletionChunk.model_validate(
        {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices, "usage": usage}
    )


def call(index: int, arguments: str, name: str | None = None, call_id: str | None = None) -> dict[str, Any]:
    return {"index": index, "id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def read(*chunks: ChatCompletionChunk, used: set[str] | None = None) -> tuple[str, list[tuple[str, str, Any]]]:
    reader = ReplyReader(set() if used is None else used)
    out = [piece for item in chunks for piece in reader.feed(item)] + reader.finish()
    deltas = [choice.delta for item in out for choice in item.choices]
    calls = [tool for delta in deltas for tool in delta.tool_calls or []]
    return "".join(delta.content or "" for delta in deltas), [
        (tool.id or "", tool.function.name or "", json.loads(tool.function.arguments or ""))
        for tool in calls
        if tool.function
    ]


def test_interleaved_parallel_calls_are_put_together() -> None:
    _, calls = read(
        chunk(tool_calls=[call(0, '{"a"', "f", "x"), call(1, "", "g", "y")]),
        chunk(tool_calls=[call(1, "{}")]),
        chunk(tool_calls=[call(0, ": 1}")]),
    )
    assert calls == [("x", "f", {"a": 1}), ("y", "g", {})]


def test_calls_without_an_id_or_with_a_used_one_get_another() -> None:
    _, calls = read(chunk(tool_calls=[call(0, "", "f", "x"), call(1, "", "g")]), used={"x"})
    assert len({"x", *(call_id for call_id, _, _ in calls)}) == 3


def test_arguments_that_are_no_object_are_handed_on_as_text() -> None:
    for text in ('{"a": ', "[1]", "null", "seven"):
        assert read(chunk(tool_calls=[call(0, text, "f", "x")]))[1][0][2] == {MALFORMED_ARGUMENTS: text}


def test_reasoning_fields_are_counted_and_not_said() -> None:
    reader = ReplyReader(set())
    reader.feed(chunk(reasoning_content="Hm"))
    reader.feed(chunk(reasoning="Oh", content="Hello there."))
    reader.finish()
    assert (reader.reasoning_chars, reader.said_chars) == (4, 12)


def test_usage_is_reported_once_and_a_missing_one_counts_the_request() -> None:
    for given, expected in (
        (chunk(usage={"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}), 5),
        (None, 0),
    ):
        reader = ReplyReader(set())
        for item in (chunk(content="Hi."), given):
            if item is not None:
                reader.feed(item)
        reports = [item.usage for item in reader.finish() if item.usage]
        assert [report.prompt_tokens for report in reports] == [expected]


def test_stream_is_whole_once_it_says_why_it_ended() -> None:
    reader = ReplyReader(set())
    reader.feed(chunk(content="Hello"))
    assert not reader.is_complete
    reader.feed(chunk(finish="stop"))
    assert reader.is_complete
