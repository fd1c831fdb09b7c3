"""What travels over the wire, as plain objects, and one builder for every message a client sends."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from duologue.records.action import Side

RTVI_LABEL = "rtvi-ai"
RTVI_VERSION = "1.1.0"
MAX_MESSAGE_BYTES = 1024 * 1024  # as websockets does by default; a longer message is no message of a call
SAMPLE_RATE_HZ = 16_000  # what recognizers hear
TICK_MS = 20  # Pipecat's and WebRTC's frame
TICK_SAMPLES = SAMPLE_RATE_HZ * TICK_MS // 1000
LOCKSTEP = "lockstep"


@dataclass(frozen=True, slots=True)
class AudioChunk:
    """PCM, signed 16-bit little-endian, interleaved; ``pts`` is the sender's tick number when it gives one."""

    pcm: bytes
    sample_rate_hz: int = SAMPLE_RATE_HZ
    num_channels: int = 1
    pts: int | None = None

    @property
    def samples(self) -> int:
        """Samples per channel."""
        return len(self.pcm) // (2 * self.num_channels)


@dataclass(frozen=True, slots=True)
class RtviMessage:
    """One RTVI envelope; ``id`` is empty where the message has none."""

    type: str
    id: str = ""
    data: Any = None


@dataclass(frozen=True, slots=True)
class InterruptionMark:
    """The sender was interrupted and drops what it has not played."""


@dataclass(frozen=True, slots=True)
class IgnoredFrame:
    """A frame that means nothing to a peer of ours: ``kind`` is its protobuf field, or the foreign label."""

    kind: str


WireItem = AudioChunk | RtviMessage | InterruptionMark | IgnoredFrame


@dataclass(frozen=True, slots=True)
class ControlRequest:
    """A ``client-message``: its name and its fields."""

    t: str
    d: dict[str, Any] | None = None

    def message(self, request_id: str) -> RtviMessage:
        """Return the envelope with its id."""
        data: dict[str, object] = {"t": self.t}
        if self.d is not None:
            data["d"] = self.d
        return RtviMessage("client-message", request_id, data)


def client_ready(request_id: str, library_version: str) -> RtviMessage:
    """Return the handshake; it declares lock-step and the write barrier."""
    about = {
        "library": "duologue",
        "library_version": library_version,
        "capabilities": {"lockstep": True, "barrier": True},
    }
    return RtviMessage("client-ready", request_id, {"version": RTVI_VERSION, "about": about})


def send_text(request_id: str, content: str) -> RtviMessage:
    """Return the message that makes a bot answer ``content`` at once, in speech."""
    options = {"run_immediately": True, "audio_response": True}
    return RtviMessage("send-text", request_id, {"content": content, "options": options})


def reset() -> ControlRequest:
    """Empty the bot's context down to its prompt; the result is a flag."""
    return ControlRequest("reset")


def update_system_prompt(
    prompt: str,
    tools: Mapping[str, object],
    tool_domain: str,
    scenario: Mapping[str, object],
    tool_schemas: Sequence[Mapping[str, object]] | None = None,
) -> ControlRequest:
    """Begin a new scenario on a bot; the result is a flag. ``tool_schemas`` go to one that does not host the tools."""
    fields: dict[str, object] = {
        "prompt": prompt,
        "tools": json.dumps(tools),
        "add_suffix": False,
        "tool_domain": tool_domain,
        "scenario": json.dumps(scenario),
    }
    if tool_schemas is not None:
        fields["tool_schemas"] = [dict(schema) for schema in tool_schemas]
    return ControlRequest("update_system_prompt", fields)


def apply_initialization(
    domain: str, shared_state_init: Mapping[str, object], actions: Sequence[Mapping[str, object]]
) -> ControlRequest:
    """Put a bot's database into its initial state; the result is a report."""
    fields = {"domain": domain, "shared_state_init": json.dumps(shared_state_init), "actions": list(actions)}
    return ControlRequest("apply_initialization", fields)


def apply_sync_delta(domain: str, delta: Mapping[str, object], epoch: str) -> ControlRequest:
    """Change a bot's database as the other side's write demands; the result is a report."""
    return ControlRequest("apply_sync_delta", {"domain": domain, "delta": dict(delta), "epoch": epoch})


def apply_event(side: Side, kind: str, data: Mapping[str, object], epoch: str) -> ControlRequest:
    """Let a world event change a bot's database; the result is a report."""
    return ControlRequest("apply_event", {"side": side.value, "kind": kind, "data": dict(data), "epoch": epoch})


def get_scenario_summary(*, include_db: bool) -> ControlRequest:
    """Ask for the bot's action log, hashes and, on request, its database."""
    return ControlRequest("get_scenario_summary", {"include_db": include_db})


def get_context_history() -> ControlRequest:
    """Ask for the bot's LLM context."""
    return ControlRequest("get_context_history")


def tool_result(call_id: str, name: str, result: object, *, ends_call: bool = False) -> ControlRequest:
    """Give a bot the result of a tool call that it forwarded; the result of the request is a flag."""
    fields = {"id": call_id, "name": name, "result": result}
    return ControlRequest("tool-result", {**fields, "ends_call": True} if ends_call else fields)


def release_action(epoch: str, seq: int, errors: Sequence[str] = ()) -> ControlRequest:
    """Let the result of write ``seq`` go to the bot's LLM; ``errors`` say that its deltas failed."""
    fields = {"epoch": epoch, "seq": seq, "success": not errors, "errors": list(errors)}
    return ControlRequest("release_action", fields)
