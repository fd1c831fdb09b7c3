import json
import random
from pathlib import Path

import pytest

from duologue.errors import TraceError
from duologue.records import event as ev
from duologue.records.action import Side
from duologue.records.outcome import StopReason
from duologue.trace.reader import load_header, load_trace
from duologue.trace.writer import TraceWriter
from tests.bridge.counter_shop import shop_scenario
from tests.bridge.stage import header

SAMPLE = Path(__file__).parents[1] / "data" / "traces" / "schema_1.jsonl"


def stored(folder: Path) -> Path:
    path = folder / "trace.jsonl"
    writer = TraceWriter(path, header(shop_scenario()))
    writer.write(ev.CallStarted(seq=1, kick_off="Hello"))
    writer.write(ev.SpokenText(seq=2, t_ms=20, side=Side.AGENT, text="Hi "))
    writer.write(ev.SpokenText(seq=3, t_ms=40, side=Side.USER, text="Oh "))
    writer.close()
    return path


def test_stored_trace_of_schema_1_still_loads() -> None:
    trace = load_trace(SAMPLE)
    ended = trace.last(ev.CallEnded)
    assert trace.header.schema_version == 1 and trace.header.scenario.name == "counter_shop__1"
    assert ended is not None and ended.stop_reason is StopReason.EXIT
    assert {event.event for event in trace.events} >= {"action_applied", "delta_pushed", "state_checked", "final_state"}


def test_stored_trace_is_written_back_to_the_same_bytes(tmp_path: Path) -> None:
    trace = load_trace(SAMPLE)
    writer = TraceWriter(tmp_path / "copy", trace.header)
    for event in trace.events:
        writer.write(event)
    writer.close()
    assert (tmp_path / "copy").read_bytes() == SAMPLE.read_bytes()


def test_header_is_readable_alone(tmp_path: Path) -> None:
    path = stored(tmp_path)
    path.write_bytes(path.read_bytes().split(b"\n")[0] + b"\n\xff\xff garbage")
    assert load_header(path).run_id == "run"


def test_events_are_found_by_class(tmp_path: Path) -> None:
    trace = load_trace(stored(tmp_path))
    assert [event.text for event in trace.of(ev.SpokenText)] == ["Hi ", "Oh "]
    last = trace.last(ev.SpokenText)
    assert last is not None and last.side is Side.USER
    assert trace.last(ev.CallEnded) is None


def test_torn_last_line_is_left_out_and_said(tmp_path: Path) -> None:
    path = stored(tmp_path)
    path.write_bytes(path.read_bytes()[:-10])
    trace = load_trace(path)
    assert trace.is_torn and len(trace.events) == 2


def test_unknown_schema_version_is_refused(tmp_path: Path) -> None:
    path = stored(tmp_path)
    first, rest = path.read_text().split("\n", 1)
    path.write_text(json.dumps({**json.loads(first), "schema_version": 99}) + "\n" + rest)
    for load in (load_header, load_trace):
        with pytest.raises(TraceError, match="schema version 99; this program reads 1 to 1"):
            load(path)


UNHEARD = {
    "event": "weather_changed",
    "seq": 2,
    "t_ms": 20,
    "side": "agent",
    "model_name": "x",
    "sky": {"clouds": [1, 2.5, None, True], "0": "h\u00e4ll \ud800"},
    "far": 10**30,
}


def with_line(path: Path, line: str) -> Path:
    lines = path.read_text(encoding="utf-8").split("\n")
    path.write_text("\n".join([*lines[:2], line, *lines[3:]]), encoding="utf-8")
    return path


def test_event_of_an_unknown_kind_is_kept_and_written_back_to_the_same_bytes(tmp_path: Path) -> None:
    line = json.dumps(UNHEARD, sort_keys=True, separators=(",", ":"))
    path = with_line(stored(tmp_path), line)
    trace = load_trace(path)
    (found,) = trace.of(ev.OpenEvent)
    assert found.event == "weather_changed" and found.fields["sky"] == UNHEARD["sky"]
    writer = TraceWriter(tmp_path / "copy", trace.header)
    for event in trace.events:
        writer.write(event)
    writer.close()
    assert (tmp_path / "copy").read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    "change",
    [
        {"event": "spoken_text"},
        {"event": "header"},
        {"event": None},
        {"event": 7},
        {"seq": None},
        {"seq": 3},
        {"t_ms": "soon"},
    ],
)
def test_malformed_event_is_no_unknown_one(tmp_path: Path, change: dict[str, object]) -> None:
    with pytest.raises(TraceError, match=r"trace\.jsonl: line 3"):
        load_trace(with_line(stored(tmp_path), json.dumps(UNHEARD | change)))


@pytest.mark.parametrize("line", [b"{", b"[]", b'{"event":"unheard"}', b'{"event":"spoken_text","seq":2}', b"\xff"])
def test_damaged_line_is_named(tmp_path: Path, line: bytes) -> None:
    path = stored(tmp_path)
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([*lines[:2], line, *lines[3:]]))
    with pytest.raises(TraceError, match=r"trace\.jsonl: line 3"):
        load_trace(path)


def test_missing_line_is_noticed(tmp_path: Path) -> None:
    path = stored(tmp_path)
    lines = path.read_bytes().split(b"\n")
    path.write_bytes(b"\n".join([*lines[:2], *lines[3:]]))
    with pytest.raises(TraceError, match="has seq 3, expected 2"):
        load_trace(path)


@pytest.mark.parametrize("content", [b"", b"\n", b"hello\n", b'{"event":"call_started"}\n'])
def test_file_without_a_header_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "t").write_bytes(content)
    for load in (load_header, load_trace):
        with pytest.raises(TraceError):
            load(tmp_path / "t")


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="nowhere"):
        load_trace(tmp_path / "nowhere")


@pytest.mark.slow
def test_damaged_bytes_raise_nothing_but_trace_errors(tmp_path: Path) -> None:
    source, good, path = random.Random(2), stored(tmp_path).read_bytes(), tmp_path / "damaged"
    for _ in range(300):
        damaged = bytearray(good)
        damaged[source.randrange(len(damaged))] = source.randrange(256)
        path.write_bytes(bytes(damaged))
        try:
            load_trace(path)
        except TraceError:
            continue
