from collections.abc import Callable
from pathlib import Path

import pytest

from duologue.records.event import ContextPulled, RecordingWritten
from duologue.records.result import ScenarioResult
from duologue.reports.contract_files import write_scenario_files
from duologue.scoring.score import score_trace
from duologue.testing.builders import TraceBuilder, write_recording
from tests.scoring.shop import AGENT, USER, shop_scenario

WriteCall = Callable[..., ScenarioResult]


def spoken_call(folder: Path, *, name: str = "shop__price", done: bool = True) -> TraceBuilder:
    """A short call with a recording in ``folder``; ``done`` says whether the agent did its task."""
    builder = TraceBuilder(shop_scenario(name=name)).say(AGENT, "Hello.", 0, 900)
    builder.say(USER, 'The price, "please".', 2000, 3000)
    if done:
        builder.call_tool(AGENT, "set_price", item="A1", price=7.5).call_tool(USER, "pay")
    builder.say(AGENT, "Done, goodbye.", 3500, 5000).hang_up()
    builder.add(ContextPulled(side=AGENT, messages=({"role": "system", "content": "You keep a shop."},)))
    folder.mkdir(parents=True, exist_ok=True)
    info = write_recording(folder / "conversation_log.wav", agent=[(0, 1000), (3500, 5000)], user=[(2000, 3000)])
    return builder.add(
        RecordingWritten(path="conversation_log.wav", sha256=info.sha256, sample_rate_hz=16_000, samples=info.samples)
    )


@pytest.fixture
def write_call() -> WriteCall:
    """Score a spoken call and write its files."""

    def write(folder: Path, *, name: str = "shop__price", done: bool = True) -> ScenarioResult:
        builder = spoken_call(folder, name=name, done=done)
        builder.save(folder)
        result = score_trace(builder.build(), folder / "conversation_log.wav")
        write_scenario_files(folder, builder.build(), result)
        return result

    return write
