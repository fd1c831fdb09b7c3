"""A bot behind a real socket that speaks the wire without any speech: what it does is written down by tick.

It performs real tool calls on a real database, so a bridge cannot tell it from a bot with a pipeline. Its
:class:`BotFaults` are the ways in which a bot can go wrong.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import http
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from duologue.errors import InitializationFailed, RegistryError, ToolError
from duologue.protocol.codec import decode, encode
from duologue.protocol.messages import (
    MAX_MESSAGE_BYTES,
    SAMPLE_RATE_HZ,
    TICK_MS,
    AudioChunk,
    InterruptionMark,
    RtviMessage,
)
from duologue.records.action import InitAction
from duologue.state.canonical import contract_hash
from duologue.state.side_state import SideState
from duologue.toolkit.initialization import initialize
from duologue.toolkit.ledger import Ledger
from duologue.toolkit.rules import RULES_NAME, SYNC_RULES, apply_dotted_delta
from duologue.toolkit.tool import find_tool

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
    context: Any = "'[]'"
    capabilities: Mapping[str, Any] = field(default_factory=dict)
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
    misreports: Mapping[str, Any] = field(default_factory=dict)
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
        self.prompt = ""
        self.scenario: dict[str, Any] = {}
        self._tools: list[str] = []
        self.state = SideState("default")
        self.ledger = Ledger()
        self._unreleased: dict[int, tuple[str, str, Any]] = {}
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
        if tick == self._faults.drifts_at_tick and self.state.db is not None:
            self.state.db["unreported"] = tick
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

    def _ready(self) -> dict[str, Any]:
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

    async def _answer(self, request_id: str, t: str, d: dict[str, Any]) -> None:
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
            await self._finish_call(int(d["seq"]))

    def _carry_out(self, t: str, d: dict[str, Any]) -> Any:
        if t in self._faults.refused_on:
            return {"success": False, "errors": [self._faults.refused_on[t]]} if t.startswith("apply_") else False
        match t:
            case "update_system_prompt":
                return self._begin(d)
            case "apply_initialization":
                return self._initialize(d)
            case "apply_sync_delta":
                return self._apply(d)
            case "get_scenario_summary":
                return self._summary(include_db=bool(d.get("include_db")))
            case "get_context_history":
                return {"context": self._script.context}
            case _:
                return True

    def _begin(self, d: dict[str, Any]) -> bool:
        self.prompt = d["prompt"]
        self.scenario = json.loads(d["scenario"])
        self._tools = sorted(json.loads(d["tools"]))
        self.state = SideState(d["tool_domain"])
        self.ledger = Ledger(self.scenario["epoch"] if self._script.has_extras else None)
        return True

    def _initialize(self, d: dict[str, Any]) -> dict[str, Any]:
        actions = [InitAction.model_validate(action) for action in d["actions"]]
        try:
            initialize(self.state, json.loads(d["shared_state_init"]), actions)
        except InitializationFailed as error:
            return {"success": False, "errors": str(error).splitlines()}
        return self._extras({"success": True, "errors": []}, digest=self.state.digest())

    def _apply(self, d: dict[str, Any]) -> dict[str, Any]:
        rules = SYNC_RULES.find(d["domain"], RULES_NAME)
        apply = rules.apply if rules is not None else apply_dotted_delta
        try:
            if "apply_sync_delta" not in self._faults.lost_on:
                apply(self.state, d["delta"])
        except ToolError as error:
            return self._extras({"success": False, "errors": [str(error)]}, digest=self.state.digest())
        return self._extras({"success": True, "errors": []}, digest=self.state.digest())

    def _summary(self, *, include_db: bool) -> dict[str, Any]:
        actions = [action.model_dump(mode="json", exclude_none=True) for action in self.ledger.actions]
        if self._faults.forgets_last_action:
            actions = actions[:-1]
        summary: dict[str, Any] = {"actions": actions, "db_hash": contract_hash(self.state.db)}
        if include_db:
            summary["db"] = self.state.db
        tools = self._tools if self._script.capabilities.get("tool_calling", True) else []
        summary = self._extras(
            summary,
            digest=self.state.digest(),
            epoch=self.scenario.get("epoch"),
            prompt_hash=hashlib.sha256(self.prompt.encode()).hexdigest(),
            tools=tools,
            profile=self.state.profile,
        )
        return {**summary, **self._faults.misreports}

    def _extras(self, result: dict[str, Any], **extras: Any) -> dict[str, Any]:
        return {**result, **extras} if self._script.has_extras else result

    async def _call(self, call_id: str, name: str, arguments: dict[str, Any]) -> None:
        started = {"tool_call_id": call_id, "function_name": name, "arguments": arguments}
        await self._push(RtviMessage("llm-function-call-in-progress", data=started))
        try:
            tool = find_tool(self.state.domain, name)
        except RegistryError as error:
            await self._stopped(call_id, name, {"status": "error", "message": str(error)})
            return
        outcome = tool.invoke(self.state, arguments)
        if not outcome.is_recorded:
            await self._stopped(call_id, name, outcome.value)
            return
        action = self.ledger.record(tool, arguments, outcome)
        await self._announce(action.model_dump(mode="json", exclude_none=True))
        if self._script.has_extras:
            self._unreleased[len(self.ledger.actions)] = (call_id, name, outcome.value)
        else:
            await self._stopped(call_id, name, outcome.value)

    async def _announce(self, action: dict[str, Any]) -> None:
        if not self._script.has_extras:
            action.pop("seq", None)
        elif self._faults.skips_seq:
            action["seq"] += 1
        data = {"type": "action-applied", "action": action, "tool_domain": self.state.domain}
        wrong = "action-applied" in self._faults.wrong_digest_on
        push = self._extras(data, digest="0" * 64 if wrong else self.state.digest())
        for _ in range(2 if self._faults.repeats_push else 1):
            await self._push(RtviMessage("server-message", data=push))

    async def _finish_call(self, seq: int) -> None:
        call_id, name, value = self._unreleased.pop(seq, ("", "", None))
        if call_id:
            await self._stopped(call_id, name, value)

    async def _stopped(self, call_id: str, name: str, value: Any) -> None:
        data = {"tool_call_id": call_id, "cancelled": False, "function_name": name, "result": value}
        await self._push(RtviMessage("llm-function-call-stopped", data=data))


def speaking(is_speaking: bool) -> RtviMessage:
    """Return what a bot pushes when its sound starts or stops."""
    return RtviMessage("bot-started-speaking" if is_speaking else "bot-stopped-speaking")


def exit_push(text: str = "The task is finished.") -> RtviMessage:
    """Return what an agent pushes to end the call."""
    return RtviMessage("server-message", data={"text": f"<exit>{text}</exit>"})
