"""Chunks of a model's reply → chunks that Pipecat can take: speakable text, whole tool calls, one usage report."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from openai.types import CompletionUsage
from openai.types.chat import ChatCompletionChunk
from openai.types.chat.chat_completion_chunk import (
    Choice,
    ChoiceDelta,
    ChoiceDeltaToolCall,
    ChoiceDeltaToolCallFunction,
)

from duologue.bots.brains.reasoning import AnswerFilter
from duologue.bots.brains.speech_text import SpeechText
from duologue.bots.tool_calls import MALFORMED_ARGUMENTS
from duologue.protocol.strict_json import parse_json

_NO_USAGE = CompletionUsage(prompt_tokens=0, completion_tokens=0, total_tokens=0)
_REASONING_FIELDS = ("reasoning_content", "reasoning")


@dataclass(slots=True)
class _Call:
    call_id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(slots=True)
class ReplyReader:
    """Reads one reply. Feed every chunk, then take :meth:`finish`.

    Args:
        used_ids: tool-call ids of earlier replies; an id that comes again, or none at all, is replaced.
        answer: the filter that keeps reasoning out.
    """

    used_ids: set[str]
    answer: AnswerFilter = field(default_factory=AnswerFilter)
    finish_reason: str | None = None
    usage: CompletionUsage | None = None
    said_chars: int = 0
    reasoning_chars: int = 0
    _speech: SpeechText = field(default_factory=SpeechText)
    _calls: dict[int, _Call] = field(default_factory=dict)
    _model: str = ""
    _is_closed: bool = False

    @property
    def is_complete(self) -> bool:
        """Whether the stream said that it was whole: a finish reason, or the usage report that comes last."""
        return self.finish_reason is not None or self._is_closed

    def feed(self, chunk: ChatCompletionChunk) -> list[ChatCompletionChunk]:
        """Take one chunk and return what can be spoken now."""
        self.usage = chunk.usage or self.usage
        self._model = chunk.model or self._model
        choice = chunk.choices[0] if chunk.choices else None
        if choice is None:
            self._is_closed = self._is_closed or chunk.usage is not None
            return []
        self.finish_reason = choice.finish_reason or self.finish_reason
        delta: ChoiceDelta | None = choice.delta
        if delta is None:
            return []
        for name in _REASONING_FIELDS:
            self.reasoning_chars += len(str(getattr(delta, name, None) or ""))
        for call in delta.tool_calls or []:
            self._take_call(call)
        return self._spoken(self._speech.feed(self.answer.feed(delta.content or "")))

    def finish(self) -> list[ChatCompletionChunk]:
        """Return the last words, every tool call, and the usage."""
        chunks = self._spoken(self._speech.feed(self.answer.finish()) + self._speech.finish())
        self.reasoning_chars += self.answer.hidden_chars
        calls = [call for _, call in sorted(self._calls.items())]
        calls += [_written_call(text) for text in self.answer.calls]
        chunks += [self._chunk(tool_calls=[self._whole(index, call)]) for index, call in enumerate(calls)]
        return [*chunks, self._chunk(usage=self.usage or _NO_USAGE)]

    @property
    def n_calls(self) -> int:
        """How many tool calls the reply holds."""
        return len(self._calls) + len(self.answer.calls)

    def _take_call(self, delta: ChoiceDeltaToolCall) -> None:
        index = delta.index if delta.index is not None else len(self._calls)
        call = self._calls.setdefault(index, _Call())
        call.call_id = call.call_id or delta.id or ""
        if delta.function is not None:
            call.name += delta.function.name or ""
            call.arguments += delta.function.arguments or ""

    def _spoken(self, pieces: Sequence[str]) -> list[ChatCompletionChunk]:
        self.said_chars += sum(map(len, pieces))
        return [self._chunk(content=f"{piece} ") for piece in pieces]

    def _whole(self, index: int, call: _Call) -> ChoiceDeltaToolCall:
        call_id = call.call_id
        while not call_id or call_id in self.used_ids:
            call_id = f"call_{len(self.used_ids) + 1}"
            if call_id in self.used_ids:
                call_id += "x"
        self.used_ids.add(call_id)
        function = ChoiceDeltaToolCallFunction(name=call.name or "unnamed", arguments=_object_text(call.arguments))
        return ChoiceDeltaToolCall(index=index, id=call_id, type="function", function=function)

    def _chunk(self, usage: CompletionUsage | None = None, **delta: Any) -> ChatCompletionChunk:
        choices = [Choice(index=0, delta=ChoiceDelta(**delta))] if delta else []
        return ChatCompletionChunk(
            id="reply", choices=choices, created=0, model=self._model, object="chat.completion.chunk", usage=usage
        )


def text_chunk(text: str) -> ChatCompletionChunk:
    """Return a chunk of words that no model said."""
    choice = Choice(index=0, delta=ChoiceDelta(content=text))
    return ChatCompletionChunk(id="reply", choices=[choice], created=0, model="", object="chat.completion.chunk")


def _object_text(arguments: str) -> str:
    """Return the arguments as JSON text of an object; anything else is wrapped for the tool handler to refuse."""
    text = arguments.strip()
    if not text:
        return "{}"
    try:
        value = parse_json(text)
    except ValueError:
        value = None
    return text if isinstance(value, dict) else json.dumps({MALFORMED_ARGUMENTS: arguments})


def _written_call(text: str) -> _Call:
    """Return a call that a model wrote as text: a JSON object with ``name`` and ``arguments``."""
    try:
        value = parse_json(text)
    except ValueError:
        return _Call(arguments=text)
    if not isinstance(value, dict):
        return _Call(arguments=text)
    arguments = value.get("arguments", value.get("parameters"))
    return _Call(name=str(value.get("name") or ""), arguments=json.dumps({} if arguments is None else arguments))
