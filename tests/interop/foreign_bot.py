"""A bot of the field, written from the description of the wire alone: nothing of Duologue is imported here.

It hosts its own small database, answers the six requests and otherwise does what a test's ``plan`` says.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field

import numpy as np
from pipecat.frames.protobufs import frames_pb2
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from tests.present import present

LABEL = "rtvi-ai"


def tone(seconds: float, rate: int = 24000, channels: int = 1, hz: float = 440.0) -> bytes:
    wave = (np.sin(2 * np.pi * hz * np.arange(round(seconds * rate)) / rate) * 8000).astype("<i2")
    return np.repeat(wave, channels).tobytes()


def folded(value: object) -> object:
    if isinstance(value, dict):
        return {key: folded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [folded(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return None if isinstance(value, str) and value.strip().lower() in ("none", "null") else value


def db_hash(db: dict) -> str:
    """The hash of the wire, as far as a database without a session and without unordered lists needs it."""
    text = json.dumps(folded(db), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass
class ForeignBot:
    """One bot on a free port. ``plan`` runs when the kick-off comes; ``write`` changes the database for a tool.

    ``answers`` replaces the result of a request; ``delays`` holds an answer back, in seconds; ``busy_for`` turns that
    many clients away with code 1013.
    """

    plan: Callable[[ForeignBot], Coroutine[None, None, None]] | None = None
    capabilities: dict = field(default_factory=dict)
    initialize: Callable[[dict, dict], None] = lambda db, action: None
    write: Callable[[dict, str, dict], None] = lambda db, name, arguments: None
    sync: Callable[[dict, dict], None] = lambda db, delta: None
    answers: dict = field(default_factory=dict)
    delays: dict = field(default_factory=dict)
    noise: list[dict] = field(default_factory=list)
    busy_for: int = 0
    journal: list = field(default_factory=list)
    name: str = "bot"

    def __post_init__(self) -> None:
        self.db: dict | None = None
        self.actions: list[dict] = []
        self.frames: list[bytes] = []
        self.results: dict[str, dict] = {}
        self.connections = 0
        self.turned_away = 0
        self.kicked_off_at: int | None = None
        self._socket: ServerConnection | None = None
        self._loud = asyncio.Event()
        self._answered = asyncio.Condition()
        self._work: asyncio.Task | None = None

    async def __aenter__(self) -> ForeignBot:
        self._server = await serve(self._client, "127.0.0.1", 0, close_timeout=0.5)
        self.url = f"ws://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._work is not None:
            self._work.cancel()
            await asyncio.wait({self._work})
        self._server.close()
        await self._server.wait_closed()

    async def _client(self, socket) -> None:
        if self._socket is not None or self.turned_away < self.busy_for:
            self.turned_away += 1
            await socket.close(1013, "busy")
            return
        self._socket, self.connections = socket, self.connections + 1
        try:
            with contextlib.suppress(ConnectionClosed):
                async for data in socket:
                    frame = frames_pb2.Frame.FromString(data)
                    if frame.WhichOneof("frame") == "audio":
                        self._hear(frame.audio)
                    else:
                        await self._take(json.loads(frame.message.data))
        finally:
            self._socket = None

    def _hear(self, audio) -> None:
        assert (audio.sample_rate, audio.num_channels) == (16000, 1)
        self.frames.append(audio.audio)
        if np.abs(np.frombuffer(audio.audio, "<i2").astype(int)).max() > 1000:
            self._loud.set()

    async def _take(self, message: dict) -> None:
        kind, data = message["type"], message.get("data") or {}
        if kind == "client-ready":
            ready = {"version": "1.1.0", "about": {"library": "elsewhere", "capabilities": self.capabilities}}
            await self.message("bot-ready", ready, message["id"])
        elif kind == "send-text":
            self.kicked_off_at = len(self.frames)
            if self.plan is not None:
                self._work = asyncio.create_task(self.plan(self))
        elif kind == "client-message":
            self.journal.append((self.name, data["t"], data.get("d")))
            await self._answer(message["id"], data["t"], data.get("d") or {})

    async def _answer(self, request_id: str, t: str, d: dict) -> None:
        if t == "tool-result":
            async with self._answered:
                self.results[d["id"]] = d["result"]
                self._answered.notify_all()
        result = self._result(t, d)
        result = self.answers[t](result) if t in self.answers else result
        await asyncio.sleep(self.delays.get(t, 0))
        for stray in self.noise:
            await present(self._socket).send(frames_pb2.Frame(message={"data": json.dumps(stray)}).SerializeToString())
        self.journal.append((self.name, f"{t} answered", None))
        body = {"t": t} if result is None else {"t": t, "d": result}
        await self.message("server-response", body, request_id)

    def _result(self, t: str, d: dict) -> object:
        match t:
            case "update_system_prompt":
                self.db, self.actions = None, []
                return bool(d["prompt"]) and isinstance(json.loads(d["tools"]), dict)
            case "apply_initialization":
                self.db = json.loads(d["shared_state_init"]).get("db")
                for action in d["actions"]:
                    self.initialize(self.db, action)
                return {"success": True, "errors": []}
            case "apply_sync_delta":
                self.sync(present(self.db), d["delta"])
                return {"success": True, "errors": []}
            case "get_scenario_summary":
                summary = {"actions": self.actions, "db_hash": db_hash(present(self.db))}
                return {**summary, "db": self.db} if d.get("include_db") else summary
            case "get_context_history":
                return {"context": repr([{"role": "assistant", "content": None, "ok": True}])}
            case _:
                return True

    # What a plan is made of.

    async def message(self, kind: str, data: object = None, message_id: str | None = None) -> None:
        envelope = {"label": LABEL, "type": kind, "id": message_id, "data": data}
        await present(self._socket).send(frames_pb2.Frame(message={"data": json.dumps(envelope)}).SerializeToString())

    async def play(
        self, pcm: bytes, rate: int = 24000, channels: int = 1, chunk_ms: int = 100, rest_s: float = 0
    ) -> None:
        """Send sound in chunks, with a rest after each; without a rest it is one burst."""
        size = 2 * channels * rate * chunk_ms // 1000
        for start in range(0, len(pcm), size):
            audio = {"audio": pcm[start : start + size], "sample_rate": rate, "num_channels": channels}
            await present(self._socket).send(frames_pb2.Frame(audio=audio).SerializeToString())
            await asyncio.sleep(rest_s)

    async def interrupt(self) -> None:
        await present(self._socket).send(frames_pb2.Frame(interruption={"name": "i"}).SerializeToString())

    async def hears_something(self) -> None:
        self._loud.clear()
        await self._loud.wait()

    async def act(self, name: str, arguments: dict, **extra: object) -> None:
        """Change the own database and report it."""
        self.write(present(self.db), name, arguments)
        action = {"action_type": "write", "name": name, "arguments": arguments}
        self.actions.append(action)
        push = {"type": "action-applied", "action": action, "tool_domain": "counter_shop", **extra}
        await self.message("server-message", push)

    async def forward(self, call_id: str, name: str, arguments: dict) -> dict:
        """Have the harness run a tool, and return its result."""
        await self.message("server-message", {"type": "tool-call", "id": call_id, "name": name, "arguments": arguments})
        async with self._answered:
            await self._answered.wait_for(lambda: call_id in self.results)
        return self.results[call_id]

    async def leave(self) -> None:
        await self.message("server-message", {"text": "<exit>The task is finished.</exit>"})
