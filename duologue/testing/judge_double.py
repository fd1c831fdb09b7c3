"""A judge that answers by script: an OpenAI-compatible chat endpoint on loopback, one step for each request."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web


@dataclass(frozen=True, slots=True)
class JudgeStep:
    """What happens to one request.

    Args:
        text: content of the reply's message.
        status: HTTP status; anything but 200 sends ``text`` as the body.
        hangs: no reply until the server stops.
        is_cut: the connection ends in the middle of the reply.
        body: the whole body of the reply instead of a chat completion.
        retry_after: value of that header.
    """

    text: str = ""
    status: int = 200
    hangs: bool = False
    is_cut: bool = False
    body: str | None = None
    retry_after: str | None = None


def graded(score: float, *, claims: Sequence[bool] = (), reason: str = "It says so.") -> JudgeStep:
    """Return a valid reply with this score and these verdicts on statements."""
    reply: dict[str, Any] = {"score": score, "reason": reason}
    if claims:
        reply["nl_assertion_verdicts"] = [
            {"index": index, "passed": passed, "reason": reason} for index, passed in enumerate(claims, start=1)
        ]
    return JudgeStep(json.dumps(reply))


@dataclass(slots=True)
class JudgeDouble:
    """A running double: where it listens, and what it was asked.

    The steps are taken in order; the last one is repeated for every further request.
    """

    steps: list[JudgeStep]
    url: str = ""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    _stopped: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def requests(self) -> int:
        """How many requests arrived."""
        return len(self.bodies)

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.bodies.append(await request.json())
        self.headers.append(dict(request.headers))
        step = self.steps[min(self.requests, len(self.steps)) - 1]
        if step.hangs:
            await self._stopped.wait()
        headers = {"Retry-After": step.retry_after} if step.retry_after is not None else {}
        if step.status != 200:
            return web.Response(status=step.status, text=step.text, headers=headers)
        text = step.body if step.body is not None else completion(step.text)
        if step.is_cut:
            return await _cut(request, text)
        return web.Response(text=text, content_type="application/json")


def completion(text: str) -> str:
    """Return the body of a chat completion whose message is ``text``."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return json.dumps({"id": "double", "object": "chat.completion", "model": "double", "choices": [choice]})


async def _cut(request: web.Request, text: str) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": str(len(text))})
    await response.prepare(request)
    await response.write(text[: len(text) // 2].encode())
    if request.transport is not None:
        request.transport.abort()
    return response


@asynccontextmanager
async def judge_double(*steps: JudgeStep) -> AsyncIterator[JudgeDouble]:
    """Serve ``steps`` on a free port of loopback while the context lasts."""
    double = JudgeDouble(list(steps))
    app = web.Application()
    app.router.add_post("/v1/chat/completions", double._answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        double.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1/chat/completions"
        yield double
    finally:
        double._stopped.set()
        await runner.cleanup()
