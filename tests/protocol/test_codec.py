import json
import random
from typing import Any

import pytest
from pipecat.frames.protobufs import frames_pb2

from duologue.protocol.codec import decode, encode
from duologue.protocol.messages import AudioChunk, IgnoredFrame, InterruptionMark, RtviMessage
from duologue.protocol.strict_json import parse_json


def message_frame(text: str) -> bytes:
    frame = frames_pb2.Frame()
    frame.message.data = text
    data: bytes = frame.SerializeToString()
    return data


@pytest.mark.parametrize(
    "item",
    [
        AudioChunk(b"\x01\x02" * 320, 16_000, 1, 7),
        AudioChunk(b"\x01\x02\x03\x04", 8_000, 2),
        RtviMessage("bot-ready", "client-ready-1", {"version": "1.1.0", "none": None, "text": "ä"}),
        RtviMessage("bot-started-speaking"),
        InterruptionMark(),
    ],
)
def test_what_is_encoded_comes_back(item: Any) -> None:
    assert decode(encode(item)) == item


def test_audio_bytes_are_the_protobuf_that_pipecat_reads() -> None:
    frame = frames_pb2.Frame.FromString(encode(AudioChunk(b"\x01\x02", 24_000, 1)))
    assert frame.WhichOneof("frame") == "audio"
    assert (frame.audio.audio, frame.audio.sample_rate, frame.audio.num_channels) == (b"\x01\x02", 24_000, 1)


def test_message_bytes_hold_the_labelled_envelope() -> None:
    frame = frames_pb2.Frame.FromString(encode(RtviMessage("send-text", "x-1", {"content": "Hello"})))
    envelope = {"label": "rtvi-ai", "type": "send-text", "id": "x-1", "data": {"content": "Hello"}}
    assert json.loads(frame.message.data) == envelope


def test_other_frames_and_foreign_labels_are_ignored() -> None:
    frame = frames_pb2.Frame()
    frame.text.text = "hello"
    assert decode(frame.SerializeToString()) == IgnoredFrame("text")
    assert decode(message_frame('{"label":"other","type":"x"}')) == IgnoredFrame("label other")


@pytest.mark.parametrize(
    "data",
    [
        "text",
        b"",
        b"\xff\xff\xff",
        message_frame("not json"),
        message_frame("[1]"),
        message_frame('{"label":"rtvi-ai"}'),
        message_frame('{"label":"rtvi-ai","type":5}'),
        *(
            message_frame(f'{{"label":"rtvi-ai","type":"x","data":[{number}]}}')
            for number in ("NaN", "-Infinity", "1e999", "-1e999")
        ),
        message_frame('{"label":"rtvi-ai","type":"x","data":' + "[" * 400 + "]" * 400 + "}"),
        message_frame('{"label":"rtvi-ai","type":"x","data":' + "[" * 100_000),
        message_frame('{"label":"rtvi-ai","type":"x","data":' + "9" * 5000 + "}"),
    ],
)
def test_bytes_of_another_wire_are_refused(data: Any) -> None:
    with pytest.raises(ValueError):
        decode(data)


@pytest.mark.parametrize(
    ("pcm", "rate", "channels"), [(b"\0\0\0", 16_000, 1), (b"\0\0", 0, 1), (b"\0\0" * 3, 16_000, 3)]
)
def test_audio_that_cannot_be_is_refused(pcm: bytes, rate: int, channels: int) -> None:
    frame = frames_pb2.Frame()
    frame.audio.audio, frame.audio.sample_rate, frame.audio.num_channels = pcm, rate, channels
    with pytest.raises(ValueError, match="audio of"):
        decode(frame.SerializeToString())


def test_lone_surrogates_are_replaced() -> None:
    parse_json('{"a": "\\ud800"}')["a"].encode("utf-8")


def test_message_larger_than_a_peer_accepts_is_refused() -> None:
    with pytest.raises(ValueError, match="larger than the 1048576 bytes"):
        encode(RtviMessage("x", data="y" * 2**20))


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_number_that_json_lacks_is_not_sent(number: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        encode(RtviMessage("x", data={"a": number}))


def test_random_bytes_never_raise_anything_else() -> None:
    source = random.Random(1)
    good = encode(RtviMessage("server-message", "1", {"a": [1, {"b": None}]}))
    for _ in range(3000):
        damaged = bytearray(good)
        for _ in range(source.randint(1, 6)):
            damaged[source.randrange(len(damaged))] = source.randrange(256)
        try:
            decode(bytes(damaged))
        except ValueError:
            continue
