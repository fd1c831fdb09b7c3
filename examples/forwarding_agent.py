"""The least that an agent has to do: be a WebSocket server, hear, speak, and forward its tool calls.

    python examples/forwarding_agent.py --port 8765
    python bot_server.py --config server_configs/user.yaml --port 8766
    python run_evaluation.py --bot-protocol realtime --scenarios \
        tau2_telecom__mms_issue__bad_network_preference__user_abroad_roaming_disabled_on

It follows a fixed plan for that one scenario and takes turns by loudness alone; a real agent listens, thinks and has
more tools, and does the same on the wire. Needs ``websockets``, ``pipecat-ai`` (for its protobuf), ``hibari-tts``.
"""

import argparse
import asyncio
import itertools
import json

import numpy as np
import soxr
from hibari import Hibari
from pipecat.frames.protobufs import frames_pb2
from websockets.asyncio.server import serve

LINES = (
    "Hello, how can I help you today?",
    "Please set the network mode to four G five G preferred.",
    "Thank you for calling. Goodbye.",
)
OWNED_LINE = {"customer_id": "C1001", "line_id": "L1002"}
RATE_HZ, CHUNK = 24000, 2400  # a tenth of a second


class ForwardingAgent:
    """One client at a time. ``tools: harness`` says that the harness owns the database and runs the tools."""

    capabilities = {"tools": "harness"}

    def __init__(self):
        voice = Hibari(voice="heart")
        waves = [soxr.resample(voice(line, seed=1), voice.sample_rate, RATE_HZ) for line in LINES]
        self.sounds = [(np.clip(wave, -1, 1) * 32767).astype("<i2") for wave in waves]
        self.socket, self.work, self.ids, self.waiting = None, None, itertools.count(1), {}

    async def client(self, socket):
        if self.socket is not None:
            return await socket.close(1013, "another client is connected")
        self.socket = socket
        try:
            async for data in socket:
                frame = frames_pb2.Frame.FromString(data)
                if frame.HasField("audio"):
                    self.hear(np.frombuffer(frame.audio.audio, "<i2"))
                elif frame.HasField("message"):
                    await self.take(json.loads(frame.message.data))
        finally:
            self.socket = None

    async def send(self, kind, data=None, message_id=None):
        envelope = {"label": "rtvi-ai", "type": kind, "id": message_id, "data": data}
        await self.socket.send(frames_pb2.Frame(message={"data": json.dumps(envelope)}).SerializeToString())

    async def take(self, message):
        kind, data = message["type"], message.get("data") or {}
        if kind == "client-ready":
            about = {"library": "example", "capabilities": self.capabilities}
            await self.send("bot-ready", {"version": "1.1.0", "about": about}, message["id"])
        elif kind == "send-text":
            self.begin(0)
        elif kind == "client-message":
            answer = getattr(self, "on_" + data["t"].replace("-", "_"), None)
            if answer is None:
                error = {"error": f"unknown message type: {data['t']}"}
                await self.send("error-response", error, message["id"])
            else:
                result = {"t": data["t"], "d": answer(data.get("d") or {})}
                await self.send("server-response", result, message["id"])

    def on_reset(self, d):
        return True

    def on_update_system_prompt(self, d):
        """A new scenario. ``d["prompt"]`` and ``d["tool_schemas"]`` are what a model would be shown."""
        self.loud_s, self.quiet_s, self.turn = 0.0, 0.0, 0
        return bool(d.get("prompt"))

    def on_get_context_history(self, d):
        return {"context": repr(json.dumps([{"role": "assistant", "content": line} for line in LINES[: self.turn]]))}

    def on_tool_result(self, d):
        waiting = self.waiting.pop(d["id"], None)
        if waiting is not None:
            waiting.set_result(d["result"])
        return waiting is not None

    async def call_tool(self, name, arguments):
        call_id = f"call-{next(self.ids)}"
        self.waiting[call_id] = asyncio.get_running_loop().create_future()
        call = {"type": "tool-call", "id": call_id, "name": name, "arguments": arguments}
        await self.send("server-message", call)
        return await self.waiting[call_id]

    def hear(self, samples):
        """Take the next turn once the caller has spoken and then been quiet for 0.9 s."""
        seconds = len(samples) / 16000
        if np.sqrt(np.mean(np.square(samples.astype(float)))) > 300:
            self.loud_s, self.quiet_s = self.loud_s + seconds, 0.0
        elif self.loud_s > 0.3 and self.work is not None and self.work.done():
            self.quiet_s += seconds
            if self.quiet_s > 0.9 and self.turn < len(LINES):
                self.begin(self.turn)

    def begin(self, turn):
        self.loud_s, self.quiet_s, self.turn = 0.0, 0.0, turn + 1
        self.work = asyncio.create_task(self.act(turn))

    async def act(self, turn):
        if turn == 1:
            await self.call_tool("enable_roaming", OWNED_LINE)
        await self.say(turn)
        if turn == len(LINES) - 1:
            await self.call_tool("EndConversationTool", {})

    async def say(self, turn):
        await self.send("bot-started-speaking")
        await self.send("bot-tts-text", {"text": LINES[turn] + " "})
        for start in range(0, len(self.sounds[turn]), CHUNK):
            pcm = self.sounds[turn][start : start + CHUNK].tobytes()
            audio = {"audio": pcm, "sample_rate": RATE_HZ, "num_channels": 1}
            await self.socket.send(frames_pb2.Frame(audio=audio).SerializeToString())
            await asyncio.sleep(0.95 * CHUNK / RATE_HZ)  # a little ahead: the harness plays it on time
        await self.send("bot-stopped-speaking")


async def main(agent):
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=8765)
    async with serve(agent.client, "127.0.0.1", parser.parse_args().port) as server:
        print(f"ready: ws://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(ForwardingAgent()))
