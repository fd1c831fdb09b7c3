"""A local HTTP server that stands in for turn agents and for a transcription endpoint.

It serves all three adapters' addresses on one port. A script decides what the agent says; everything that
arrives is kept for a test to look at. ``python -m duologue.testing.agent_doubles --domain NAME`` serves a
domain's scripted brain, for trying the adapters by hand.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web

from duologue.brains.brain import Brain, build_brain
from duologue.records.action import Side
from duologue.records.scenario import CatalogueOptions
from duologue.registry import load_domain
from duologue.text.brains import brain_payload
from duologue.toolkit.rules import CATALOGUES, RULES_NAME

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """One request for a turn: which adapter, which task, the history as chat messages, the tools' names."""

    adapter: str
    task_id: str
    session_id: str
    messages: list[Message]
    tools: list[str]
    body: dict[str, Any]
    authorization: str

    @property
    def user_turns(self) -> int:
        """How many user turns the history holds."""
        return sum(message["role"] == "user" for message in self.messages)

    @property
    def is_after_tools(self) -> bool:
        """Whether tool results are the last thing in the history."""
        return bool(self.messages) and self.messages[-1]["role"] == "tool"


@dataclass(frozen=True, slots=True)
class AgentAnswer:
    """What the agent does next; ``raw`` with ``status`` replaces the whole reply."""

    text: str = ""
    calls: tuple[tuple[str, dict[str, object]], ...] = ()
    status: int = 200
    raw: str | None = None


Script = Callable[[Asked], AgentAnswer]


@dataclass(frozen=True, slots=True)
class Upload:
    """One request for a transcript."""

    file_name: str
    audio: bytes
    fields: dict[str, str]
    authorization: str


@dataclass(slots=True)
class AgentDouble:
    """The server, as an asynchronous context manager.

    Args:
        script: decides each turn.
        hear: decides each transcript: text, or (status, body) to fail.
        port: 0 takes a free one.
    """

    script: Script = lambda asked: AgentAnswer("Done.")
    hear: Callable[[Upload], str | tuple[int, str]] = lambda upload: "hello"
    port: int = 0
    asked: list[Asked] = field(default_factory=list)
    uploads: list[Upload] = field(default_factory=list)
    _runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        """The address of the server, without a path."""
        return f"http://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_post("/api/benchmark/message", self._eliza)
        app.router.add_post("/v1/chat/completions", self._hermes)
        app.router.add_post("/v1/responses", self._openclaw)
        app.router.add_post("/v1/audio/transcriptions", self._transcription)
        self._runner = web.AppRunner(app, shutdown_timeout=1.0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    def _answer(self, asked: Asked) -> tuple[AgentAnswer, list[tuple[str, str, str]]]:
        self.asked.append(asked)
        answer = self.script(asked)
        number = len(self.asked)
        calls = [
            (f"call-{number}-{index}", name, json.dumps(arguments))
            for index, (name, arguments) in enumerate(answer.calls, start=1)
        ]
        return answer, calls

    async def _eliza(self, request: web.Request) -> web.Response:
        """AgentAnswer with every call twice, as captured action and as tool call: an adapter has to see that."""
        body = await request.json()
        context = body["context"]
        tools = [_function(entry)["name"] for entry in context["tools"]]
        asked = _asked("eliza", request, body, context, context["history"], tools)
        answer, calls = self._answer(asked)
        actions = [{"id": call_id, "toolName": name, "params": json.loads(text)} for call_id, name, text in calls]
        listed = [{"id": call_id, "name": name, "arguments": text} for call_id, name, text in calls]
        return _reply(answer, {"text": answer.text, "captured_actions": actions, "tool_calls": listed})

    async def _hermes(self, request: web.Request) -> web.Response:
        body = await request.json()
        tools = [_function(entry)["name"] for entry in body.get("tools", [])]
        asked = _asked("hermes", request, body, body.get("metadata", {}), body["messages"], tools)
        answer, calls = self._answer(asked)
        listed = [
            {"id": call_id, "type": "function", "function": {"name": name, "arguments": text}}
            for call_id, name, text in calls
        ]
        message: Message = {"role": "assistant", "content": answer.text or None}
        if listed:
            message["tool_calls"] = listed
        usage = {"prompt_tokens": 10 * len(asked.messages), "completion_tokens": 5}
        return _reply(answer, {"choices": [{"index": 0, "message": message}], "usage": usage})

    async def _openclaw(self, request: web.Request) -> web.Response:
        body = await request.json()
        tools = [entry["name"] for entry in body.get("tools", [])]
        asked = _asked("openclaw", request, body, body.get("metadata", {}), _chat(body["input"]), tools)
        answer, calls = self._answer(asked)
        output: list[Message] = []
        if answer.text:
            content = [{"type": "output_text", "text": answer.text}]
            output.append({"type": "message", "role": "assistant", "content": content})
        for call_id, name, text in calls:
            output.append({"type": "function_call", "call_id": call_id, "name": name, "arguments": text})
        usage = {"input_tokens": 10 * len(asked.messages), "output_tokens": 5}
        return _reply(answer, {"status": "completed", "output": output, "usage": usage})

    async def _transcription(self, request: web.Request) -> web.Response:
        form = await request.post()
        file = form["file"]
        assert isinstance(file, web.FileField)
        fields = {key: value for key, value in form.items() if isinstance(value, str)}
        authorization = request.headers.get("Authorization", "")
        upload = Upload(file.filename, file.file.read(), fields, authorization)
        self.uploads.append(upload)
        heard = self.hear(upload)
        if isinstance(heard, tuple):
            return web.Response(status=heard[0], text=heard[1], content_type="application/json")
        return web.json_response({"text": heard})


def _asked(
    adapter: str, request: web.Request, body: Message, task: Message, messages: list[Message], tools: list[str]
) -> Asked:
    authorization = request.headers.get("Authorization", "")
    task_id, session_id = task.get("task_id", ""), task.get("session_id", "")
    return Asked(adapter, task_id, session_id, messages, tools, body, authorization)


def _reply(answer: AgentAnswer, body: Message) -> web.Response:
    if answer.raw is not None:
        return web.Response(status=answer.status, text=answer.raw, content_type="application/json")
    return web.json_response(body, status=answer.status)


def _function(entry: Message) -> Message:
    found: Message = entry.get("function", entry)
    return found


def _chat(items: Sequence[Message]) -> list[Message]:
    """Return response items as chat messages."""
    messages: list[Message] = []
    for item in items:
        match item["type"]:
            case "message":
                messages.append({"role": item["role"], "content": item["content"]})
            case "function_call":
                if not messages or messages[-1]["role"] != "assistant":
                    messages.append({"role": "assistant", "content": ""})
                function = {"name": item["name"], "arguments": item["arguments"]}
                call = {"id": item["call_id"], "type": "function", "function": function}
                messages[-1].setdefault("tool_calls", []).append(call)
            case "function_call_output":
                messages.append({"role": "tool", "tool_call_id": item["call_id"], "content": item["output"]})
    return messages


def brain_script(domain: str, kind: str, options: CatalogueOptions | None = None) -> Script:
    """Return a script that lets a scripted brain of ``domain`` answer, by the task id of each request.

    ``options`` select the scenarios; None takes the domain's own.

    Raises:
        RegistryError: there is no such domain.
    """
    load_domain(domain)
    scenarios = CATALOGUES.get(domain, RULES_NAME).load(options or CatalogueOptions())
    payloads = {scenario.task_id: brain_payload(scenario, Side.AGENT) for scenario in scenarios}
    brains: dict[str, Brain] = {}

    def answer(asked: Asked) -> AgentAnswer:
        if asked.task_id not in payloads:
            return AgentAnswer(status=404, raw=json.dumps({"error": f"no task {asked.task_id!r} in {domain}"}))
        if asked.task_id not in brains:
            brains[asked.task_id] = build_brain(kind, payloads[asked.task_id], {})
        reply = brains[asked.task_id].decide(asked.messages, asked.tools)
        return AgentAnswer(reply.text, tuple((call.name, call.arguments) for call in reply.calls))

    return answer


async def _serve(options: argparse.Namespace) -> None:
    extra = dict(item.split("=", 1) for item in options.extra)
    script = brain_script(options.domain, options.brain, CatalogueOptions(extra=extra))
    async with AgentDouble(script, port=options.port) as double:
        sys.stdout.write(f"{double.url}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(prog="python -m duologue.testing.agent_doubles", description=__doc__)
    parser.add_argument("--domain", required=True)
    parser.add_argument("--brain", default="reference", help="reference, silent, every_tool…")
    parser.add_argument(
        "--extra", action="append", default=[], metavar="FLAG=VALUE", help="a flag of the domain's own catalogue"
    )
    parser.add_argument("--port", type=int, default=0, help="a free one when left out")
    try:
        asyncio.run(_serve(parser.parse_args(sys.argv[1:] if arguments is None else arguments)))
    except KeyboardInterrupt:
        return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
