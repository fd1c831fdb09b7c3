"""A server of the OpenAI Realtime API on loopback: hears with a local recognizer, speaks with a local voice.

It keeps to the protocol's events and refuses what the protocol refuses; what it says and calls is decided by a brain.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import http
import itertools
import json
from collections.abc import AsyncIterator, Callable
from typing import Any, Protocol
from urllib.parse import parse_qs, urlsplit

import numpy as np
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from duologue.brains.reply import BrainCall, BrainReply
from duologue.testing.realtime_items import chat_messages, joined, tool_names, usage_of

RATE_HZ = 24000  # the rate of the service that it stands for
BYTES_PER_MS = RATE_HZ * 2 // 1000

_DELTA_MS = 100  # sound in one message of the service
_AHEAD = 4.0
"""How much faster than real time a reply's audio comes."""

_WINDOW_MS = 20  # window of its voice detection
_LOUD = 0.01  # of full scale, -40 dBFS
_START_WINDOWS = 5  # 100 ms of sound are speech, a click is not

Event = dict[str, Any]


class RealtimeBrain(Protocol):
    """Decides the server's next words and calls."""

    def decide(self, messages: list[dict[str, object]], tools: list[str]) -> BrainReply:
        """Return the reply to these chat messages."""
        ...


class RealtimeDouble:
    """The server. ``conversations`` holds one for each connection, in order.

    Args:
        brain: what it says and calls.
        hear: 24 kHz s16 audio to words.
        speak: words to 24 kHz s16 audio.
        key: the only API key it takes.
    """

    def __init__(
        self,
        brain: RealtimeBrain,
        *,
        hear: Callable[[bytes], str],
        speak: Callable[[str], bytes],
        key: str = "test-key",
    ) -> None:
        self.brain, self.hear, self.speak = brain, hear, speak
        self.conversations: list[ServedConversation] = []
        self._key = key

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        """Serve for the length of the block; give the address for ``llm.base_url``."""
        async with serve(self._converse, "127.0.0.1", 0, process_request=self._admit) as server:
            yield f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1/realtime"

    def _admit(self, connection: ServerConnection, request: Request) -> Response | None:
        if request.headers.get("Authorization") != f"Bearer {self._key}":
            return connection.respond(http.HTTPStatus.UNAUTHORIZED, "Incorrect API key provided\n")
        if not parse_qs(urlsplit(request.path).query).get("model"):
            return connection.respond(http.HTTPStatus.BAD_REQUEST, "a model is required\n")
        return None

    async def _converse(self, connection: ServerConnection) -> None:
        conversation = ServedConversation(self, connection)
        self.conversations.append(conversation)
        await conversation.run()


class ServedConversation:
    """One connection: its session, its items, its audio buffer and at most one reply at a time."""

    def __init__(self, server: RealtimeDouble, connection: ServerConnection) -> None:
        self.session: Event = {"type": "realtime", "object": "realtime.session", "id": "sess_1"}
        self.items: list[Event] = []
        self.received: list[Event] = []
        self._server = server
        self._connection = connection
        self._ids = itertools.count(1)
        self._audio = bytearray()
        self._appended_ms = 0
        self._unheard = bytearray()
        self._loud = self._quiet = 0
        self._is_speech = False
        self._reply: asyncio.Task[None] | None = None

    def got(self, kind: str) -> list[Event]:
        """Return the client's events of a type."""
        return [event for event in self.received if event["type"] == kind]

    async def run(self) -> None:
        """Answer events until the client leaves."""
        await self._send("session.created", session=self.session)
        try:
            async for text in self._connection:
                event = json.loads(text)
                self.received.append(event)
                await self._handle(event)
        except ConnectionClosed:
            pass
        finally:
            if self._reply is not None:
                self._reply.cancel()

    async def _handle(self, event: Event) -> None:
        match event["type"]:
            case "session.update":
                self.session = joined(self.session, event["session"])
                await self._send("session.updated", session=self.session)
            case "input_audio_buffer.append":
                await self._append(base64.b64decode(event["audio"]))
            case "input_audio_buffer.commit":
                await self._commit()
            case "input_audio_buffer.clear":
                self._audio.clear()
                await self._send("input_audio_buffer.cleared")
            case "conversation.item.create":
                await self._add({"status": "completed", **event["item"]})
            case "conversation.item.truncate":
                kept = {"content_index": event["content_index"], "audio_end_ms": event["audio_end_ms"]}
                await self._send("conversation.item.truncated", item_id=event["item_id"], **kept)
            case "response.create":
                await self._respond()
            case "response.cancel":
                await self._cancel()
            case other:
                await self._refuse("unknown_event", f"unknown event {other}")

    # the audio buffer and the server's turn detection

    @property
    def _turn_detection(self) -> Event | None:
        """The session's turn detection; None when the client decides about turns itself."""
        heard = (self.session.get("audio") or {}).get("input") or {}
        detection: Event | None = heard.get("turn_detection", {"type": "server_vad"})
        return detection

    async def _append(self, audio: bytes) -> None:
        self._audio += audio
        if self._turn_detection is None:
            return
        self._unheard += audio
        size = _WINDOW_MS * BYTES_PER_MS
        while len(self._unheard) >= size:
            window, self._unheard = bytes(self._unheard[:size]), self._unheard[size:]
            self._appended_ms += _WINDOW_MS
            await self._listen(window)

    async def _listen(self, window: bytes) -> None:
        samples = np.frombuffer(window, dtype="<i2").astype(np.float32) / 32768
        is_loud = float(np.sqrt(np.mean(samples**2))) > _LOUD
        self._loud, self._quiet = (self._loud + 1, 0) if is_loud else (0, self._quiet + 1)
        silence_ms = (self._turn_detection or {}).get("silence_duration_ms") or 500
        if not self._is_speech and self._loud >= _START_WINDOWS:
            self._is_speech = True
            await self._send("input_audio_buffer.speech_started", audio_start_ms=self._appended_ms, item_id="next")
            if self._is_replying:
                await self._cancel()
        elif self._is_speech and self._quiet * _WINDOW_MS >= silence_ms:
            self._is_speech = False
            await self._send("input_audio_buffer.speech_stopped", audio_end_ms=self._appended_ms, item_id="next")
            await self._commit()
            await self._respond()

    async def _commit(self) -> None:
        if not self._audio:
            await self._refuse("input_audio_buffer_commit_empty", "the input audio buffer is empty")
            return
        audio = bytes(self._audio)
        self._audio.clear()
        item: Event = {"id": self._new_id("item"), "type": "message", "role": "user", "status": "completed"}
        await self._send("input_audio_buffer.committed", item_id=item["id"])
        words = await asyncio.to_thread(self._server.hear, audio)
        item["content"] = [{"type": "input_audio", "transcript": words}]
        await self._add(item)
        if ((self.session.get("audio") or {}).get("input") or {}).get("transcription") is not None:
            kind = "conversation.item.input_audio_transcription.completed"
            await self._send(kind, item_id=item["id"], content_index=0, transcript=words)

    # replies

    @property
    def _is_replying(self) -> bool:
        return self._reply is not None and not self._reply.done()

    async def _respond(self) -> None:
        if self._is_replying:
            await self._refuse("conversation_already_has_active_response", "a response is active")
            return
        self._reply = asyncio.create_task(self._answer())

    async def _cancel(self) -> None:
        if self._reply is None or not self._is_replying:
            await self._refuse("response_cancel_not_active", "no response is active")
            return
        self._reply.cancel()
        await asyncio.wait({self._reply})
        await self._send("response.done", response={"id": "resp_cancelled", "status": "cancelled", "output": []})

    async def _answer(self) -> None:
        response: Event = {"id": self._new_id("resp"), "object": "realtime.response", "status": "in_progress"}
        await self._send("response.created", response=response)
        messages = chat_messages(self.session, self.items)
        reply = self._server.brain.decide(messages, tool_names(self.session))
        output = [await self._say(reply.text, response["id"])] if reply.text else []
        output += [await self._call(call, response["id"], len(output) + n) for n, call in enumerate(reply.calls)]
        done = {**response, "status": "completed", "output": output, "usage": usage_of(messages, reply)}
        await self._send("response.done", response=done)

    async def _say(self, text: str, response_id: str) -> Event:
        item_id = self._new_id("item")
        item: Event = {"id": item_id, "type": "message", "role": "assistant", "status": "in_progress", "content": []}
        await self._add(item)
        where = {"response_id": response_id, "item_id": item_id, "output_index": 0, "content_index": 0}
        audio = await asyncio.to_thread(self._server.speak, text)
        step = _DELTA_MS * BYTES_PER_MS
        pieces = [audio[start : start + step] for start in range(0, len(audio), step)]
        words = text.split()
        for number, piece in enumerate(pieces):
            due = len(words) * number // len(pieces), len(words) * (number + 1) // len(pieces)
            for word in words[due[0] : due[1]]:
                await self._send("response.output_audio_transcript.delta", delta=f"{word} ", **where)
            await self._send("response.output_audio.delta", delta=base64.b64encode(piece).decode(), **where)
            await asyncio.sleep(_DELTA_MS / 1000 / _AHEAD)
        await self._send("response.output_audio.done", **where)
        item.update(status="completed", content=[{"type": "output_audio", "transcript": text}])
        await self._send("conversation.item.done", item=item)
        return item

    async def _call(self, call: BrainCall, response_id: str, index: int) -> Event:
        arguments = json.dumps(call.arguments)
        item = {
            "id": self._new_id("item"),
            "type": "function_call",
            "status": "completed",
            "call_id": self._new_id("call"),
            "name": call.name,
            "arguments": arguments,
        }
        await self._add(item)
        where = {"response_id": response_id, "item_id": item["id"], "output_index": index, "call_id": item["call_id"]}
        await self._send("response.function_call_arguments.done", arguments=arguments, **where)
        return item

    async def _add(self, item: Event) -> None:
        self.items.append(item)
        await self._send("conversation.item.added", item=item)

    async def _refuse(self, code: str, message: str) -> None:
        await self._send("error", error={"type": "invalid_request_error", "code": code, "message": message})

    async def _send(self, kind: str, **content: object) -> None:
        with contextlib.suppress(ConnectionClosed):
            await self._connection.send(json.dumps({"type": kind, "event_id": self._new_id("event"), **content}))

    def _new_id(self, kind: str) -> str:
        return f"{kind}_{next(self._ids)}"
