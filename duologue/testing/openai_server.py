"""A deterministic OpenAI-compatible server that plays models by script.

    python -m duologue.testing.openai_server --port 9000 --scenario-list data/spoken_twelve.txt

It answers ``/v1/chat/completions`` (streaming and whole) and ``/v1/models``. As a command it plays competent models:
``model: reference`` on the agent side, ``model: scripted_user`` on the user side.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from duologue.errors import DuologueError
from duologue.runner.build import build_scenarios
from duologue.runner.settings import Selection
from duologue.testing.model_brains import BrainModels, scripts_by_epoch
from duologue.testing.model_script import (
    Answer,
    ChatRequest,
    FaultKind,
    ModelCall,
    ModelFault,
    ModelReply,
    parse_fault,
    spoiled,
)

EPOCH_HEADER = "X-Duologue-Epoch"
_HOST = "127.0.0.1"
_START_S = 10.0  # a server on a thread is up in milliseconds; then something is wrong
_STREAM_HEADERS = {"Content-Type": "text/event-stream", "Cache-Control": "no-cache"}


@dataclass(slots=True)
class ModelServer:
    """The server on a thread of its own; a context manager. ``requests`` keeps everything that was asked.

    Args:
        answer: the script.
        faults: what goes wrong, and when.
        api_key: when set, other keys are refused with 401.
        first_token_s: real seconds before the first token of every reply.
        chunk_chars: how many characters of text or arguments go into one chunk.
        port: 0 takes a free one.
    """

    answer: Answer
    faults: Sequence[ModelFault] = ()
    api_key: str = ""
    first_token_s: float = 0.0
    chunk_chars: int = 7
    port: int = 0
    requests: list[ChatRequest] = field(default_factory=list)
    asked: threading.Event = field(default_factory=threading.Event)
    _numbers: Counter[str] = field(default_factory=Counter)
    _spent: set[int] = field(default_factory=set)
    _up: threading.Event = field(default_factory=threading.Event)
    _failure: list[OSError] = field(default_factory=list)
    _thread: threading.Thread | None = None
    _loop: asyncio.AbstractEventLoop | None = None
    _stop: asyncio.Event | None = None

    @property
    def url(self) -> str:
        """The base URL for ``llm.base_url``."""
        return f"http://{_HOST}:{self.port}/v1"

    def __enter__(self) -> ModelServer:
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        if not self._up.wait(_START_S):
            raise RuntimeError("the model server did not start")
        if self._failure:
            raise self._failure[0]
        return self

    def __exit__(self, *_: object) -> None:
        assert self._loop is not None and self._stop is not None and self._thread is not None
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(_START_S)

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_get("/v1/models", self._models)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
        await runner.setup()
        try:
            site = web.TCPSite(runner, _HOST, self.port)
            await site.start()
        except OSError as error:
            self._failure.append(error)
        else:
            self.port = runner.addresses[0][1]
            self._up.set()
            await self._stop.wait()
        finally:
            self._up.set()
            await runner.cleanup()

    async def _models(self, _: web.Request) -> web.Response:
        models = [{"id": name, "object": "model", "owned_by": "duologue"} for name in ("reference", "scripted_user")]
        return web.json_response({"object": "list", "data": models})

    async def _chat(self, http: web.Request) -> web.StreamResponse:
        request = self._read(http, await http.json())
        self.requests.append(request)
        self.asked.set()
        if self.api_key and request.authorization != f"Bearer {self.api_key}":
            return _error(401, "the key is wrong")
        struck = {fault.kind: fault for fault in self.faults if fault.strikes(request)}
        if FaultKind.HANG in struck:
            assert self._stop is not None
            await self._stop.wait()
        if (fault := struck.get(FaultKind.TOO_MANY)) is not None:
            headers = {} if fault.seconds is None else {"Retry-After": f"{fault.seconds:g}"}
            return _error(429, "too many requests", headers)
        if FaultKind.SERVER_ERROR in struck:
            return _error(500, "the server has failed")
        try:
            reply = self._spoil(self.answer(request), request) if request.number else ModelReply("Yes.")
        except DuologueError as error:
            return _error(400, str(error))
        slow = struck.get(FaultKind.SLOW)
        await asyncio.sleep(self.first_token_s + ((slow.seconds or 1.0) if slow else 0.0))
        if not request.is_stream:
            return web.json_response(_whole(request, reply))
        return await self._stream(http, request, reply, is_cut=FaultKind.CUT in struck)

    def _read(self, http: web.Request, body: dict[str, Any]) -> ChatRequest:
        model = str(body.get("model"))
        is_probe = body.get("max_tokens") == 1
        self._numbers[model] += not is_probe
        return ChatRequest(
            number=0 if is_probe else self._numbers[model],
            model=model,
            messages=list(body.get("messages") or []),
            tools=[tool["function"]["name"] for tool in body.get("tools") or []],
            epoch=http.headers.get(EPOCH_HEADER, ""),
            is_stream=bool(body.get("stream")),
            authorization=http.headers.get("Authorization", ""),
            body=body,
        )

    def _spoil(self, reply: ModelReply, request: ChatRequest) -> ModelReply:
        """Apply the faults of content; a malformed call is due from its request on, until a reply holds a call."""
        for index, fault in enumerate(self.faults):
            if fault.kind is FaultKind.UNKNOWN_TOOL and fault.strikes(request):
                return spoiled(reply, fault.kind, request.number)
            is_due = request.number >= fault.first and fault.model in ("", request.model)
            if fault.kind is FaultKind.MALFORMED and reply.calls and is_due and index not in self._spent:
                self._spent.add(index)
                return spoiled(reply, fault.kind, request.number)
        return reply

    async def _stream(
        self, http: web.Request, request: ChatRequest, reply: ModelReply, *, is_cut: bool
    ) -> web.StreamResponse:
        response = web.StreamResponse(headers=_STREAM_HEADERS)
        deltas = list(_deltas(reply, self.chunk_chars))
        with contextlib.suppress(ConnectionResetError):  # an interrupted bot leaves
            await response.prepare(http)
            for delta in deltas[: max(1, len(deltas) // 2)] if is_cut else deltas:
                await response.write(_event(_chunk(request, delta)))
            if is_cut:
                if http.transport is not None:
                    http.transport.close()
                return response
            await response.write(_event(_chunk(request, {}, finish_reason=_finish_reason(reply))))
            if (request.body.get("stream_options") or {}).get("include_usage"):
                await response.write(_event({**_chunk(request, None), "usage": _usage(request, reply)}))
            await response.write(b"data: [DONE]\n\n")
            await response.write_eof()
        return response


def _error(status: int, message: str, headers: dict[str, str] | None = None) -> web.Response:
    return web.json_response({"error": {"message": message, "type": "scripted"}}, status=status, headers=headers)


def _event(data: dict[str, object]) -> bytes:
    return f"data: {json.dumps(data)}\n\n".encode()


def _deltas(reply: ModelReply, chars: int) -> Iterator[dict[str, object]]:
    yield {"role": "assistant", "content": ""}
    for piece in _pieces(reply.reasoning, chars):
        yield {"reasoning_content": piece}
    for piece in _pieces(reply.text, chars):
        yield {"content": piece}
    for index, call in enumerate(reply.calls):
        yield {"tool_calls": [{"index": index, **_call(call, "")}]}
        for piece in _pieces(call.arguments, chars):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _pieces(text: str, chars: int) -> list[str]:
    return [text[start : start + chars] for start in range(0, len(text), chars)]


def _call(call: ModelCall, arguments: str) -> dict[str, Any]:
    return {"id": call.call_id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _chunk(
    request: ChatRequest, delta: dict[str, object] | None, finish_reason: str | None = None
) -> dict[str, object]:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish_reason}]
    return {
        "id": f"chatcmpl-{request.number}",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": request.model,
        "choices": choices,
    }


def _whole(request: ChatRequest, reply: ModelReply) -> dict[str, object]:
    message: dict[str, object] = {"role": "assistant", "content": reply.text or None}
    if reply.calls:
        message["tool_calls"] = [_call(call, call.arguments) for call in reply.calls]
    return {
        "id": f"chatcmpl-{request.number}",
        "object": "chat.completion",
        "created": 0,
        "model": request.model,
        "choices": [{"index": 0, "message": message, "finish_reason": _finish_reason(reply)}],
        "usage": _usage(request, reply),
    }


def _finish_reason(reply: ModelReply) -> str:
    return reply.finish_reason or ("tool_calls" if reply.calls else "stop")


def _usage(request: ChatRequest, reply: ModelReply) -> dict[str, int]:
    """Return token counts; a token of this server is a word."""
    prompt = len(json.dumps(request.messages).split())
    said = [reply.text, reply.reasoning, *(f"{call.name} {call.arguments}" for call in reply.calls)]
    completion = sum(len(text.split()) for text in said)
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(prog="duologue.testing.openai_server", description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=9000)
    parser.add_argument("--scenarios", nargs="+", default=[], metavar="NAME", help="what is going to be run")
    parser.add_argument("--scenario-list", type=Path, metavar="FILE", help="the same, one name a line")
    parser.add_argument("--attempts", type=int, default=20, help="trials of each that may be asked for (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="the --seed of the run (%(default)s)")
    parser.add_argument("--fault", action="append", default=[], type=parse_fault, metavar="KIND[=S]@N[xTIMES][/MODEL]")
    parser.add_argument("--wrong-number-every", type=int, default=0, metavar="N", help="every Nth caller invents one")
    parser.add_argument("--first-token-ms", type=int, default=0)
    parser.add_argument("--api-key", default="")
    options = parser.parse_args(arguments)
    names = [*options.scenarios, *_listed(options.scenario_list)]
    try:
        scripts = scripts_by_epoch(
            build_scenarios(Selection(names=tuple(names))), attempts=options.attempts, seed=options.seed
        )
    except DuologueError as error:
        parser.error(str(error))
    models = BrainModels(scripts, options.wrong_number_every)
    server = ModelServer(models, options.fault, options.api_key, options.first_token_ms / 1000, port=options.port)
    with contextlib.suppress(KeyboardInterrupt), server:
        print(f"ready: scripted models on {server.url}", flush=True)
        threading.Event().wait()
    return 0


def _listed(path: Path | None) -> list[str]:
    if path is None:
        return []
    lines = path.read_text(encoding="utf-8").splitlines()
    return [name for line in lines if (name := line.split("#", 1)[0].strip())]


if __name__ == "__main__":
    sys.exit(main())
