"""A bridge of the field, written from the description of the wire alone: nothing of Duologue is imported here.

Like the reference it connects twice, prepares without waiting for most answers, and takes the first
``server-response`` for the context and the summary, whatever its id. It reads literals instead of evaluating them.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import itertools
import json
import time
from dataclasses import dataclass, field

from pipecat.frames.protobufs import frames_pb2
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

FRAME_S, FRAME_BYTES = 0.016, 512


@dataclass
class ForeignBridge:
    """One bot's client. ``messages`` and ``audio`` hold what came in, with the seconds since the connection began."""

    url: str
    messages: list[tuple[float, dict]] = field(default_factory=list)
    audio: list[tuple[float, int, int, bytes]] = field(default_factory=list)
    interruptions: int = 0

    def __post_init__(self) -> None:
        self._ids = itertools.count(1)
        self._came = asyncio.Condition()

    @contextlib.asynccontextmanager
    async def connected(self):
        async with connect(self.url, ping_interval=20, ping_timeout=10, close_timeout=10) as self._socket:
            self._began = time.monotonic()
            reader = asyncio.create_task(self._read())
            try:
                yield self
            finally:
                reader.cancel()

    async def _read(self) -> None:
        with contextlib.suppress(ConnectionClosed):
            async for data in self._socket:
                frame = frames_pb2.Frame.FromString(data)
                now = time.monotonic() - self._began
                kind = frame.WhichOneof("frame")
                if kind == "audio":
                    self.audio.append((now, frame.audio.sample_rate, frame.audio.num_channels, frame.audio.audio))
                elif kind == "interruption":
                    self.interruptions += 1
                elif kind == "message":
                    async with self._came:
                        self.messages.append((now, json.loads(frame.message.data)))
                        self._came.notify_all()

    async def send(self, kind: str, data: object = None) -> str:
        message_id = f"{kind}_{next(self._ids)}"
        envelope = {"label": "rtvi-ai", "type": kind, "id": message_id, "data": data}
        await self._socket.send(frames_pb2.Frame(message={"data": json.dumps(envelope)}).SerializeToString())
        return message_id

    async def ask(self, t: str, d: object = None) -> str:
        return await self.send("client-message", {"t": t} if d is None else {"t": t, "d": d})

    async def first(self, *kinds: str, since: int = 0, message_id: str | None = None, timeout: float = 15.0) -> dict:
        """Wait for the first message of one of these types after the first ``since`` messages."""

        def found() -> dict | None:
            later = [message for _, message in self.messages[since:] if message["type"] in kinds]
            return next((message for message in later if message_id in (None, message.get("id"))), None)

        async with asyncio.timeout(timeout), self._came:
            await self._came.wait_for(lambda: found() is not None)
        return found() or {}

    async def handshake(self) -> dict:
        about = {"library": "evaluation-bridge", "library_version": "1.0.0"}
        message_id = await self.send("client-ready", {"version": "1.1.0", "about": about})
        return await self.first("bot-ready", message_id=message_id, timeout=5.0)

    async def prepare(self, prompt: str, tools: list[str], domain: str, db_path: str, actions: list[dict]) -> dict:
        async with self.connected():
            await self.handshake()
            await self.ask("reset")
            fields = {"prompt": prompt, "add_suffix": False, "tool_domain": domain}
            await self.ask("update_system_prompt", {**fields, "tools": json.dumps({name: {} for name in tools})})
            shared = json.dumps({"db_path": db_path})
            d = {"domain": domain, "shared_state_init": shared, "actions": actions}
            message_id = await self.ask("apply_initialization", d)
            return dict((await self.first("server-response", "error-response", message_id=message_id))["data"]["d"])

    async def stream(self, seconds: float, pcm: bytes = b"") -> None:
        """Send 16 ms frames on a steady schedule: ``pcm``, then silence, for so long in all."""
        due = time.monotonic()
        for number in range(round(seconds / FRAME_S)):
            chunk = pcm[number * FRAME_BYTES : (number + 1) * FRAME_BYTES].ljust(FRAME_BYTES, b"\0")
            audio = {"audio": chunk, "sample_rate": 16000, "num_channels": 1}
            await self._socket.send(frames_pb2.Frame(audio=audio).SerializeToString())
            due += FRAME_S
            await asyncio.sleep(max(due - time.monotonic(), 0.001))

    async def stream_until(self, kind: str, seconds: float, *, count: int = 1) -> None:
        """Send silence until so many messages of a type have come."""
        for _ in range(round(seconds / 0.16)):
            if len(self.of(kind)) >= count:
                return
            await self.stream(0.16)
        raise AssertionError(f"no {kind} within {seconds} s: {[message['type'] for _, message in self.messages]}")

    async def kick_off(self) -> None:
        options = {"run_immediately": True, "audio_response": True}
        await self.send("send-text", {"content": "Hello", "options": options})

    async def pull_context(self) -> list:
        since = len(self.messages)
        await self.ask("get_context_history")
        answer = await self.first("server-response", since=since)
        value = ast.literal_eval(answer["data"]["d"]["context"])
        return list(json.loads(value) if isinstance(value, str) else value)

    async def pull_summary(self, *, include_db: bool) -> dict:
        since = len(self.messages)
        await self.ask("get_scenario_summary", {"include_db": include_db})
        return dict((await self.first("server-response", since=since))["data"]["d"])

    def of(self, kind: str) -> list[tuple[float, dict]]:
        return [(now, message.get("data") or {}) for now, message in self.messages if message["type"] == kind]

    async def close_code(self) -> int | None:
        """Wait until the bot ends the connection."""
        async with asyncio.timeout(5):
            await self._socket.wait_closed()
        return self._socket.close_code
