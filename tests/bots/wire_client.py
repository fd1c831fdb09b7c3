"""A raw client of one bot: WebSocket, protobuf and RTVI JSON, with nothing of the bridge in it."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

import numpy as np
from pipecat.frames.protobufs import frames_pb2
from websockets.asyncio.client import ClientConnection

FRAME_BYTES = 640
SILENCE = bytes(FRAME_BYTES)


@dataclass
class WireClient:
    """Sends messages and grants; keeps every message (with its tick) and all audio."""

    socket: ClientConnection
    messages: list[tuple[int, dict]] = field(default_factory=list)
    audio: bytearray = field(default_factory=bytearray)
    raw: list[bytes] = field(default_factory=list)
    ticks: int = 0
    _ids: int = 0

    async def send(self, kind: str, data: object = None) -> str:
        self._ids += 1
        frame = frames_pb2.Frame()
        message_id = f"m{self._ids}"
        message = {"label": "rtvi-ai", "type": kind, "id": message_id, "data": data}
        frame.message.data = json.dumps({key: value for key, value in message.items() if value is not None})
        await self.socket.send(frame.SerializeToString())
        return message_id

    async def receive(self) -> frames_pb2.Frame:
        data = await self.socket.recv()
        assert isinstance(data, bytes)
        self.raw.append(data)
        frame = frames_pb2.Frame.FromString(data)
        if frame.WhichOneof("frame") == "message":
            self.messages.append((self.ticks, json.loads(frame.message.data)))
        return frame

    async def ready(self, *, barrier: bool = False) -> dict:
        about = {"library": "test", "library_version": "0", "capabilities": {"lockstep": True, "barrier": barrier}}
        return await self.answer_to(await self.send("client-ready", {"version": "1.1.0", "about": about}))

    async def answer_to(self, message_id: str) -> dict:
        """Read until the answer with this id has come; time stands still meanwhile."""
        while not (self.messages and self.messages[-1][1].get("id") == message_id):
            await self.receive()
        return self.messages[-1][1]

    async def ask(self, name: str, data: dict | None = None) -> object:
        answer = await self.answer_to(await self.send("client-message", {"t": name, "d": data or {}}))
        assert answer["type"] == "server-response", answer
        assert answer["data"]["t"] == name
        return answer["data"].get("d")

    async def tick(self, audio: bytes = SILENCE) -> bytes:
        """Grant 20 ms and return the 20 ms that come back."""
        frame = frames_pb2.Frame()
        frame.audio.audio, frame.audio.sample_rate, frame.audio.num_channels = audio, 16000, 1
        await self.socket.send(frame.SerializeToString())
        self.ticks += 1
        while (reply := await self.receive()).WhichOneof("frame") != "audio":
            pass
        assert reply.audio.pts == self.ticks
        heard: bytes = reply.audio.audio
        self.audio += heard
        return heard

    async def play(self, pcm: bytes) -> None:
        for start in range(0, len(pcm), FRAME_BYTES):
            await self.tick(pcm[start : start + FRAME_BYTES].ljust(FRAME_BYTES, b"\0"))

    async def wait(self, seconds: float) -> None:
        for _ in range(round(seconds * 50)):
            await self.tick()

    async def until(self, kind: str, *, seconds: float = 20.0) -> dict:
        """Grant silence until a new message of this type arrives."""
        start = len(self.messages)
        for _ in range(round(seconds * 50)):
            found = [message for _, message in self.messages[start:] if message["type"] == kind]
            if found:
                return found[0]
            await self.tick()
        raise AssertionError(f"no {kind} within {seconds} s: {self.kinds()}")

    def kinds(self) -> list[str]:
        return [message["type"] for _, message in self.messages]

    def of(self, kind: str) -> list[dict]:
        return [message.get("data") or {} for _, message in self.messages if message["type"] == kind]

    def pushes(self, kind: str = "") -> list[dict]:
        found = self.of("server-message")
        return [push for push in found if push.get("type") == kind] if kind else found

    def spoken(self) -> str:
        return "".join(data["text"] for data in self.of("bot-tts-text"))

    def heard(self) -> list[str]:
        return [data["text"] for data in self.of("user-transcription")]


def tone(seconds: float, *, hz: float = 440.0, level: float = 0.3) -> bytes:
    time_s = np.arange(round(seconds * 16000)) / 16000
    return (level * 32767 * np.sin(2 * np.pi * hz * time_s)).astype("<i2").tobytes()


def noise(seconds: float, *, level: float = 0.02) -> bytes:
    samples = np.random.default_rng(7).normal(0, level * 32767, round(seconds * 16000))
    return np.clip(samples, -32768, 32767).astype("<i2").tobytes()
