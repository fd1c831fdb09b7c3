"""A real small model on each side of a spoken call: ``make test-llm``.

The model is far too small for the task. What is tested is that the call is orderly, the tools are in front of the
model, its tokens are counted, and the verdict says what happened.
"""

import json
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from duologue.bots.services import Models
from duologue.records.action import Side
from duologue.records.event import (
    BotMessage,
    CallEnded,
    Fault,
    HeardText,
    Prepared,
    SpokenText,
    ToolCalled,
    ToolReturned,
)
from duologue.records.outcome import Cause, OutcomeKind, StopReason
from duologue.runner.build import build_scenarios
from duologue.runner.settings import Selection
from duologue.trace.reader import Trace, load_trace
from tests.calls.llm_stage import SHORT, play_with
from tests.present import present

pytestmark = [pytest.mark.model, pytest.mark.socket, pytest.mark.speech]

DURATION_S = 120.0
SCRIPTED: dict[str, dict[str, object]] = {
    "agent": {"llm": {"type": "reference"}},
    "user": {"llm": {"type": "scripted_user"}, "tts": {"pitch": 0.8}},
}
ENDS = {StopReason.EXIT, StopReason.CALLER_DONE, StopReason.TIMEOUT}


@pytest.fixture(scope="module")
def small_model() -> Iterator[str]:
    """The base URL of a model server that this fixture starts and stops."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "duologue.testing.llama_server", "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            line = next((line for line in present(process.stdout) if line.startswith("ready")), "")
            assert line, "the model server did not start; run make test-llm, which installs it"
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.terminate()


def settings(url: str) -> dict[str, Any]:
    """The ``llm`` section of the side that the model holds."""
    llm = {"type": "openai", "base_url": url, "model": "smollm2", "temperature": 0.3, "seed": 7}
    return {**llm, "max_tokens": 60, "request_timeout_s": 500, "charge": "fixed:700"}


def rendered(url: str, tools: list[str]) -> str:
    """What the model server puts in front of the model for a request with these tools."""
    shown = [{"type": "function", "function": {"name": name, "parameters": {"properties": {}}}} for name in tools]
    body = json.dumps({"messages": [{"role": "system", "content": "You are a test."}], "tools": shown}).encode()
    address = url.removesuffix("/v1") + "/apply-template"
    with urllib.request.urlopen(urllib.request.Request(address, body, {"Content-Type": "application/json"})) as answer:
        return str(json.load(answer)["prompt"])


def transcript(trace: Trace) -> str:
    """What each side said and called, in order."""
    lines: list[tuple[str, str]] = []
    for event in trace.events:
        if isinstance(event, ToolCalled):
            lines.append((event.side, f"[{event.name} {event.arguments}]"))
        elif isinstance(event, SpokenText) and lines and lines[-1][0] == event.side:
            lines[-1] = (event.side, f"{lines[-1][1]} {event.text.strip()}")
        elif isinstance(event, SpokenText):
            lines.append((event.side, event.text.strip()))
    return "\n".join(f"{side}: {text}" for side, text in lines)


@pytest.mark.parametrize("side", ["agent", "user"])
async def test_small_model_holds_one_side(tmp_path: Path, models: Models, small_model: str, side: str) -> None:
    (scenario,) = build_scenarios(Selection(names=(SHORT,)))
    scenario = scenario.model_copy(update={"max_duration_s": DURATION_S})
    model = {**SCRIPTED[side], "llm": settings(small_model)}
    result = await play_with(tmp_path, models, scenario, {**SCRIPTED, side: model})
    trace = load_trace(tmp_path / scenario.name / "trace.jsonl")
    text = transcript(trace)
    print(f"{text}\n{result.outcome}\n{result.tokens[Side(side)]}")

    # orderly: both speak and are heard, the call ends as a call does, and no markup is spoken
    assert present(trace.last(CallEnded)).stop_reason in ENDS, trace.of(Fault)
    assert not trace.of(Fault) and not [event for event in trace.of(BotMessage) if event.kind == "error"]
    for kind in (SpokenText, HeardText):
        assert {str(getattr(event, "side", "")) for event in trace.of(kind)} == {"agent", "user"}, text
    assert not any(mark in text for mark in ("<think", "<tool_call", "**", "<|im_"))

    # tools are offered: by the bot, and in front of the model
    offered = next(event.tools for event in trace.of(Prepared) if event.side == side)
    assert set(offered) == set(getattr(scenario, side).resources.tools)
    assert all(name in rendered(small_model, list(offered)) for name in offered)
    called, answered = [
        {event.call_id for event in events if event.side == side}
        for events in (trace.of(ToolCalled), trace.of(ToolReturned))
    ]
    assert called == answered

    # tokens are counted, and the verdict is about the agent or, where the caller is the model, the caller
    used = result.tokens[Side(side)]
    assert used.n_calls >= 2 and used.prompt > 500 * used.n_calls and used.completion > 0
    assert (
        result.outcome.kind is not OutcomeKind.PASSED
        or present(trace.last(CallEnded)).stop_reason is not StopReason.TIMEOUT
    )
    assert result.outcome.cause in (None, Cause.USER_SIM), result.outcome
