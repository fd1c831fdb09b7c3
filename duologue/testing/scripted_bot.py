"""A bot behind a real socket that speaks the wire without any speech: what it does is written down by tick.

It performs real tool calls on a real database, so a bridge cannot tell it from a bot with a pipeline. Its
:class:`BotFaults` are the ways in which a bot can go wrong.
"""

from __future__ import annotations

import asyncio
import contextlib
import http
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from duologue.errors import RegistryError
from duologue.protocol.bodies import ReleaseBody, StartBody, SummaryBody
from duologue.protocol.codec import decode, encode
from duologue.protocol.messages import (
    MAX_MESSAGE_BYTES,
    SAMPLE_RATE_HZ,
    TICK_MS,
    AudioChunk,
    InterruptionMark,
    RtviMessage,
)
from duologue.protocol.replies import report_fields
from duologue.toolkit.side_host import Key, SideHost, crash_report
from duologue.toolkit.tool import find_tool

_CONTRACT_FIELDS = frozenset({"success", "errors", "actions", "db_hash", "db"})

Pushed = RtviMessage | InterruptionMark


@dataclass(slots=True)
class BotScript:
    """What a bot does. Keys of mappings are ticks, from 0.

    ``audio`` returns one tick of PCM at ``sample_rate_hz``; None is silence. ``writes`` are tool calls
    (name, arguments). ``has_extras`` False leaves out everything that a foreign bot would not report. ``journal``
    notes a request when it comes and when its answer was sent; scripts may share one, to tell what came first.
    """

    audio: Callable[[int], bytes | None] = lambda tick: None
    sample_rate_hz: int = SAMPLE_RATE_HZ
    messages: Mapping[int, Sequence[Pushed]] = field(default_factory=dict)
    writes: Mapping[int, Sequence[tuple[str, dict[str, Any]]]] = field(default_factory=dict)
    context: object = "'[]'"
    capabilities: Mapping[str, object] = field(default_factory=dict)
    has_extras: bool = True
    journal: list[str] = field(default_factory=list)


@dataclass(slots=True)
class BotFaults:
    """How a bot goes wrong; sets and keys are names of requests.

    ``lost_on`` answers as if the request had been carried out; ``late_on`` answers after so many seconds;
    ``misreports`` are values of the summary that are not so; ``slow_tick`` is a tick and the seconds it takes;
    ``drifts_at_tick`` changes the database without reporting it.
    """

    silent_on: frozenset[str] = frozenset()
    wrong_id_on: frozenset[str] = frozenset()
    repeated_on: frozenset[str] = frozenset()
    refused_on: Mapping[str, str] = field(default_factory=dict)
    lost_on: frozenset[str] = frozenset()
    late_on: Mapping[str, float] = field(default_factory=dict)
    wrong_digest_on: frozenset[str] = frozenset()
    dies_on: frozenset[str] = frozenset()
    dies_at_tick: int | None = None
    hangs_at_tick: int | None = None
    slow_tick: tuple[int, float] | None = None
    large_message_at_tick: int | None = None
    drifts_at_tick: int | None = None
    misreports: Mapping[str, object] = field(default_factory=dict)
    forgets_last_action: bool = False
    repeats_push: bool = False
    skips_seq: bool = False


class ScriptedBot:
    """Serves any number of sessions of one script on a free port of loopback.

    Use as ``async with ScriptedBot(script) as bot: bot.url``.
    """

    def __init__(
        self, script: BotScript | None = None, faults: BotFaults | None = None, *, token: str | None = None
    ) -> None:
        self.script = script or BotScript()
        self.faults = faults or BotFaults()
        self.token = token
        self.sessions: list[ScriptedSession] = []
        self.url = ""
        self._server: Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await serve(
            self._serve,
            "127.0.0.1",
            0,
            compression=None,
            ping_interval=None,
            max_size=MAX_MESSAGE_BYTES,
            close_timeout=0.5,
            process_request=self._admit,
        )
        port = next(iter(self._server.sockets)).getsockname()[1]
        self.url = f"ws://127.0.0.1:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    def _admit(self, connection: ServerConnection, request: Request) -> Response | None:
        if self.token is None or request.headers.get("Authorization") == f"Bearer {self.token}":
            return None
        return connection.respond(http.HTTPStatus.UNAUTHORIZED, "token required\n")

    async def _serve(self, socket: ServerConnection) -> None:
        session = ScriptedSession(self.script, self.faults, socket)
        self.sessions.append(session)
        with contextlib.suppress(ConnectionClosed):
            await session.run()


class ScriptedSession:
    """One connection: its own database, ledger and tick count. ``heard`` is what it was sent, tick by tick."""

    def __init__(self, script: BotScript, faults: BotFaults, socket: ServerConnection) -> None:
        self._script = script
        self._faults = faults
        self._socket = socket
        self.heard: list[bytes] = []
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.texts: list[str] = []
        self.scenario: dict[str, object] = {}
        self._tools: list[str] = []
        self.host = SideHost()
        self._unreleased: dict[Key, tuple[str, str, object]] = {}
        self._tick = 0

    async def run(self) -> None:
        """Serve until the peer leaves."""
        while True:
            item = decode(await self._socket.recv())
            if isinstance(item, AudioChunk):
                await self._grant(item)
            elif isinstance(item, RtviMessage):
                await self._take(item)

    async def _grant(self, chunk: AudioChunk) -> None:
        tick, self._tick = self._tick, self._tick + 1
        self.heard.append(chunk.pcm)
        if tick == self._faults.dies_at_tick:
            self._socket.transport.abort()
            return
        if tick == self._faults.hangs_at_tick:
            await self._socket.wait_closed()
        if self._faults.slow_tick is not None and tick == self._faults.slow_tick[0]:
            await asyncio.sleep(self._faults.slow_tick[1])
        if tick == self._faults.drifts_at_tick and self.host.state.db is not None:
            self.host.state.db["unreported"] = tick
        if tick == self._faults.large_message_at_tick:
            await self._socket.send(bytes(2 * MAX_MESSAGE_BYTES))
        for message in self._script.messages.get(tick, ()):
            await self._push(message)
        for name, arguments in self._script.writes.get(tick, ()):
            await self._call(f"call-{tick}", name, arguments)
        rate = self._script.sample_rate_hz
        pcm = self._script.audio(tick) or bytes(2 * rate * TICK_MS // 1000)
        await self._push(AudioChunk(pcm, rate, 1, self._tick))

    async def _push(self, item: AudioChunk | Pushed) -> None:
        await self._socket.send(encode(item))

    async def _take(self, message: RtviMessage) -> None:
        if message.type == "client-ready":
            await self._push(RtviMessage("bot-ready", message.id, self._ready()))
        elif message.type == "send-text":
            self.texts.append(message.data["content"])
        elif message.type == "client-message":
            await self._answer(message.id, message.data["t"], message.data.get("d") or {})

    def _ready(self) -> dict[str, object]:
        capabilities = {
            "transport": "lockstep",
            "frame_ms": TICK_MS,
            "audio_in_hz": SAMPLE_RATE_HZ,
            "audio_out_hz": self._script.sample_rate_hz,
            "tool_calling": True,
            "barrier": self._script.has_extras,
            "brain": "scripted",
            "plan": False,
            **self._script.capabilities,
        }
        return {"version": "1.1.0", "about": {"library": "duologue-scripted", "capabilities": capabilities}}

    async def _answer(self, request_id: str, t: str, d: dict[str, object]) -> None:
        faults = self._faults
        self.requests.append((t, d))
        self._script.journal.append(f"{t} came")
        if t in faults.dies_on:
            self._socket.transport.abort()
            return
        if t in faults.silent_on:
            return
        if t in faults.late_on:
            await asyncio.sleep(faults.late_on[t])
        result = self._carry_out(t, d)
        if isinstance(result, dict) and "digest" in result and t in faults.wrong_digest_on:
            result["digest"] = "0" * 64
        answered = "another-request-7" if t in faults.wrong_id_on else request_id
        response = RtviMessage("server-response", answered, {"t": t, "d": result})
        await self._push(response)
        self._script.journal.append(f"{t} answered")
        if t in faults.repeated_on:
            await self._push(response)
        if t == "release_action":
            await self._finish_call(d)

    def _carry_out(self, t: str, d: dict[str, object]) -> object:
        if t in self._faults.refused_on:
            return {"success": False, "errors": [self._faults.refused_on[t]]} if t.startswith("apply_") else False
        match t:
            case "update_system_prompt":
                return self._begin(d)
            case "apply_sync_delta" if t in self._faults.lost_on:
                return self._without_extras(report_fields(self.host.report([])))
            case "apply_initialization" | "apply_sync_delta" | "apply_event":
                known = d if self._script.has_extras else {key: value for key, value in d.items() if key != "epoch"}
                return self._without_extras(self.host.answer(t, known))
            case "get_scenario_summary":
                return self._summary(d)
            case "get_context_history":
                return {"context": self._script.context}
            case _:
                return True

    def _begin(self, d: Mapping[str, object]) -> bool:
        body = StartBody.read("update_system_prompt", d)
        self.scenario = body.scenario
        self._tools = sorted(body.tools)
        epoch = body.epoch if self._script.has_extras else None
        self.host.begin(body.tool_domain, body.prompt, {}, epoch, "default")
        return True

    def _summary(self, d: Mapping[str, object]) -> dict[str, object]:
        summary = self.host.summarize(SummaryBody.read("get_scenario_summary", d))
        if self._faults.forgets_last_action:
            summary["actions"] = summary["actions"][:-1]
        summary["tools"] = self._tools if self._script.capabilities.get("tool_calling", True) else []
        return {**self._without_extras(summary), **self._faults.misreports}

    def _without_extras(self, result: dict[str, object] | None) -> dict[str, object]:
        """Return an answer as the script's kind of bot gives it: a foreign one knows the contract's fields only."""
        result = result or {}
        if self._script.has_extras:
            return result
        return {key: value for key, value in result.items() if key in _CONTRACT_FIELDS}

    async def _call(self, call_id: str, name: str, arguments: Mapping[str, object]) -> None:
        started = {"tool_call_id": call_id, "function_name": name, "arguments": arguments}
        await self._push(RtviMessage("llm-function-call-in-progress", data=started))
        # A script may call what its scenario does not list.
        with contextlib.suppress(RegistryError):
            self.host.tools.setdefault(name, find_tool(self.host.state.domain, name))
        done = self.host.perform(name, arguments)
        if done.crash:
            await self._push(RtviMessage("server-message", data=crash_report(done.crash)))
        if done.action is None:
            await self._stopped(call_id, name, done.value)
            return
        await self._announce(self.host.applied(done.action))
        if self._script.has_extras:
            self._unreleased[self.host.hold(done.action)] = (call_id, name, done.value)
        else:
            await self._stopped(call_id, name, done.value)

    async def _announce(self, push: dict[str, Any]) -> None:
        if not self._script.has_extras:
            del push["digest"], push["action"]["seq"]
        elif self._faults.skips_seq:
            push["action"]["seq"] += 1
        if "action-applied" in self._faults.wrong_digest_on:
            push["digest"] = "0" * 64
        for _ in range(2 if self._faults.repeats_push else 1):
            await self._push(RtviMessage("server-message", data=push))

    async def _finish_call(self, d: dict[str, object]) -> None:
        key = self.host.release(ReleaseBody.read("release_action", d))
        if key is not None:
            await self._stopped(*self._unreleased.pop(key))

    async def _stopped(self, call_id: str, name: str, value: object) -> None:
        data = {"tool_call_id": call_id, "cancelled": False, "function_name": name, "result": value}
        await self._push(RtviMessage("llm-function-call-stopped", data=data))


def speaking(is_speaking: bool) -> RtviMessage:
    """Return what a bot pushes when its sound starts or stops."""
    return RtviMessage("bot-started-speaking" if is_speaking else "bot-stopped-speaking")


def exit_push(text: str = "The task is finished.") -> RtviMessage:
    """Return what an agent pushes to end the call."""
    return RtviMessage("server-message", data={"text": f"<exit>{text}</exit>"})
