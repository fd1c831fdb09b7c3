"""Wire bytes ⇄ objects: one binary WebSocket message is one protobuf ``Frame``."""

from __future__ import annotations

import json
from typing import Any

from google.protobuf.message import DecodeError
from pipecat.frames.protobufs import frames_pb2

from duologue.protocol.messages import (
    MAX_MESSAGE_BYTES,
    RTVI_LABEL,
    AudioChunk,
    IgnoredFrame,
    InterruptionMark,
    RtviMessage,
    WireItem,
)
from duologue.protocol.strict_json import parse_json


def encode(item: AudioChunk | RtviMessage | InterruptionMark) -> bytes:
    """Return the bytes of one frame.

    Raises:
        ValueError: the frame would be larger than the peer accepts, or its data is not JSON.
    """
    frame = frames_pb2.Frame()
    if isinstance(item, AudioChunk):
        frame.audio.audio = item.pcm
        frame.audio.sample_rate = item.sample_rate_hz
        frame.audio.num_channels = item.num_channels
        if item.pts is not None:
            frame.audio.pts = item.pts
    elif isinstance(item, InterruptionMark):
        frame.interruption.name = "interruption"
    else:
        frame.message.data = json.dumps(_envelope(item), allow_nan=False)
    data: bytes = frame.SerializeToString()
    if len(data) > MAX_MESSAGE_BYTES:
        raise ValueError(f"a message of {len(data)} bytes is larger than the {MAX_MESSAGE_BYTES} bytes a peer accepts")
    return data


def decode(data: bytes | str) -> WireItem:
    """Return what one WebSocket message holds.

    Raises:
        ValueError: not a frame of this wire; the text says in what way.
    """
    if isinstance(data, str):
        raise ValueError("a text message; this wire is binary protobuf")
    try:
        frame = frames_pb2.Frame.FromString(data)
    except DecodeError as error:
        raise ValueError("bytes that are not a protobuf Frame") from error
    kind = frame.WhichOneof("frame")
    if kind == "audio":
        return _audio(frame.audio)
    if kind == "message":
        return parse_envelope(frame.message.data)
    if kind == "interruption":
        return InterruptionMark()
    if kind is None:
        raise ValueError("an empty protobuf Frame")
    return IgnoredFrame(kind)


def parse_envelope(text: str) -> RtviMessage | IgnoredFrame:
    """Return the RTVI message in ``text``; one with a foreign label is ignored.

    Raises:
        ValueError: not a JSON object with a ``type``.
    """
    value = parse_json(text)
    if not isinstance(value, dict):
        raise ValueError("a message that is not a JSON object")
    if value.get("label") != RTVI_LABEL:
        return IgnoredFrame(f"label {str(value.get('label'))[:40]}")
    kind = value.get("type")
    if not isinstance(kind, str) or not kind:
        raise ValueError("an RTVI message without a type")
    return RtviMessage(kind, str(value.get("id") or ""), value.get("data"))


def _audio(audio: Any) -> AudioChunk:
    channels = int(audio.num_channels) or 1
    rate = int(audio.sample_rate)
    if rate <= 0 or channels > 2 or len(audio.audio) % (2 * channels):
        raise ValueError(f"audio of {len(audio.audio)} bytes, {rate} Hz, {channels} channels")
    return AudioChunk(audio.audio, rate, channels, audio.pts if audio.HasField("pts") else None)


def _envelope(message: RtviMessage) -> dict[str, object]:
    envelope: dict[str, object] = {"label": RTVI_LABEL, "type": message.type}
    if message.id:
        envelope["id"] = message.id
    if message.data is not None:
        envelope["data"] = message.data
    return envelope
