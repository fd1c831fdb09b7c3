from pathlib import Path

import pytest

from duologue.errors import TraceError
from duologue.records.action import Side
from duologue.records.event import BotMessage, CallStarted, SpokenText
from duologue.trace.reader import load_trace
from duologue.trace.writer import TraceWriter
from tests.bridge.counter_shop import shop_scenario
from tests.bridge.stage import header


def test_events_are_on_disk_at_once(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path / "trace.jsonl", header(shop_scenario()))
    events = CallStarted(seq=1), SpokenText(seq=2, t_ms=40, side=Side.USER, text="hé\nllo ")
    for event in events:
        writer.write(event)
    assert load_trace(tmp_path / "trace.jsonl").events == events
    writer.close()


def test_equal_events_are_equal_bytes(tmp_path: Path) -> None:
    for name, data in [("a", {"x": 1, "y": 2}), ("b", {"y": 2, "x": 1})]:
        writer = TraceWriter(tmp_path / name, header(shop_scenario()))
        writer.write(BotMessage(side=Side.AGENT, kind="k", data=data))
        writer.close()
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_trace_never_overwrites_another(tmp_path: Path) -> None:
    TraceWriter(tmp_path / "t", header(shop_scenario())).close()
    with pytest.raises(TraceError, match="cannot start a trace"):
        TraceWriter(tmp_path / "t", header(shop_scenario()))


def test_closed_trace_takes_no_events(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path / "t", header(shop_scenario()))
    writer.close()
    writer.close()
    with pytest.raises(TraceError, match="is closed"):
        writer.write(CallStarted())
