"""A domain whose tools work on an HTTP service: apart for each attempt, restored after a crash, missed when it dies."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from duologue.clock import SystemClock
from duologue.protocol.messages import RtviMessage
from duologue.records.caller import ClipSource
from duologue.records.event import BotMessage, DomainEvent, Event, Fault, ToolCalled, ToolReturned
from duologue.records.outcome import Cause, OutcomeKind, StopReason
from duologue.records.result import ScenarioResult
from duologue.records.scenario import Scenario
from duologue.runner.bot_calls import BotCalls
from duologue.runner.build import check_scenarios
from duologue.runner.observer import SilentObserver
from duologue.runner.settings import RunSettings
from duologue.runner.text_calls import TextCalls
from duologue.testing.scripted_bot import BotScript, ScriptedBot, exit_push
from duologue.toolkit.resource_life import RunResources, started_resources
from duologue.toolkit.results import ToolResult
from duologue.toolkit.tool import TOOLS, Tool, ToolContext, ToolKind
from tests.lending import BEFORE, DOMAIN, RIGHT, ROOT, Done, lending_scenarios, run_attempt

pytestmark = [pytest.mark.socket, pytest.mark.slow]

GUIDE = Path(__file__).parents[2] / "docs" / "authoring.md"
RENEW_WHALES = ("renew_loan", {"book": "whales", "days": 14})


@pytest.fixture(scope="module")
def scenarios() -> Iterator[dict[str, Scenario]]:
    with lending_scenarios() as found:
        yield found


@pytest.fixture
def beep(tmp_path: Path) -> Callable[[ClipSource], bytes]:
    """A voice that says everything as one short tone."""
    path = tmp_path / "beep.wav"
    soundfile.write(path, np.sin(np.arange(1600) / 5) * 0.3, 16000)
    content = path.read_bytes()
    return lambda source: content


Play = Callable[..., Any]


@pytest.fixture
def play(tmp_path: Path, beep: Callable[[ClipSource], bytes]) -> Play:
    """Run one attempt with an agent that says nothing, and forwards its calls 1.2 s into the call."""

    async def attempt(
        resources: RunResources,
        scenario: Scenario,
        *calls: tuple[str, dict[str, Any]],
        name: str = "attempt",
        observer: SilentObserver | None = None,
        number: int = 1,
    ) -> Done:
        pushed = [
            RtviMessage(
                "server-message", data={"type": "tool-call", "id": f"c{index}", "name": tool, "arguments": given}
            )
            for index, (tool, given) in enumerate(calls)
        ]
        script = BotScript(messages={60: pushed, 80: [exit_push()]}, capabilities={"forwards_tools": True})
        async with ScriptedBot(script) as bot:
            settings = RunSettings(agent_url=bot.url, user_url="ws://127.0.0.1:1", min_agent_turns=0)
            held = BotCalls(settings, SystemClock(), speak=beep, resources=resources)
            return await run_attempt(tmp_path / name, scenario, held, settings, observer=observer, number=number)

    return attempt


async def test_reference_passes_a_reported_check_decides_nothing_and_rescoring_agrees(
    play: Play, scenarios: dict[str, Scenario]
) -> None:
    check_scenarios(list(scenarios.values()))
    async with started_resources(scenarios.values()) as resources:
        done = await play(resources, scenarios["whales"], ("read_notices", {}), RENEW_WHALES)
    assert done.trace.of(Fault) == []
    assert [event.data for event in done.trace.of(DomainEvent)] == [{"day": 24}]
    assert [event.result for event in done.trace.of(ToolReturned)] == [
        {"closed_days": [24]},
        {"message": "whales is due on day 25.", "due_day": 25},
    ]
    assert done.held == {"initial": BEFORE, "final": RIGHT}
    assert (done.result.outcome.kind, done.verdict) == (OutcomeKind.PASSED, True), done.result.outcome.detail
    assert done.reported["card_said"] is False
    assert done.again == done.result


async def test_wrong_agent_fails_the_domain_s_own_check(play: Play, scenarios: dict[str, Scenario]) -> None:
    wrong = [(), (("renew_loan", {"book": "stars", "days": 14}),), (RENEW_WHALES, RENEW_WHALES)]
    async with started_resources(scenarios.values()) as resources:
        for index, calls in enumerate(wrong):
            done = await play(resources, scenarios["whales"], *calls, name=str(index))
            assert (done.result.outcome.kind, done.verdict) == (OutcomeKind.FAILED, False), done.result.outcome.detail
            assert done.again == done.result


async def test_attempts_at_once_and_one_after_the_other_have_loans_of_their_own(
    play: Play, scenarios: dict[str, Scenario]
) -> None:
    async with started_resources(scenarios.values()) as resources:
        stars = ("renew_loan", {"book": "stars", "days": 14})
        at_once = await asyncio.gather(
            play(resources, scenarios["whales"], RENEW_WHALES, name="a"),
            play(resources, scenarios["stars"], stars, name="b"),
            play(resources, scenarios["whales"], ("list_loans", {}), name="c", number=2),
        )
        later = await play(resources, scenarios["whales"], RENEW_WHALES, name="d")
        assert process(resources).returncode is None
    kinds = [done.result.outcome.kind for done in (*at_once, later)]
    assert kinds == [OutcomeKind.PASSED, OutcomeKind.PASSED, OutcomeKind.FAILED, OutcomeKind.PASSED]
    assert [event.result for event in at_once[2].trace.of(ToolReturned)] == [BEFORE]


@dataclass
class Killer(SilentObserver):
    """Kills the service with a signal that no program hears, as soon as a tool is called."""

    resources: RunResources

    def event_written(self, event: Event) -> None:
        if isinstance(event, ToolCalled):
            os.kill(process(self.resources).pid, signal.SIGKILL)

    def scenario_finished(self, result: ScenarioResult, folder: Path) -> None:
        pass


def process(resources: RunResources) -> asyncio.subprocess.Process:
    desk: Any = resources._kept[DOMAIN, "desk"].running
    assert desk._process is not None
    found: asyncio.subprocess.Process = desk._process
    return found


async def test_service_that_is_killed_in_mid_call_is_nobodys_failure_and_the_next_attempt_works(
    play: Play, scenarios: dict[str, Scenario]
) -> None:
    async with started_resources(scenarios.values()) as resources:
        first = process(resources)
        lost = await play(resources, scenarios["whales"], RENEW_WHALES, name="a", observer=Killer(resources))
        after = await play(resources, scenarios["whales"], RENEW_WHALES, name="b")
        second = process(resources)
    outcome = lost.result.outcome
    assert (outcome.kind, outcome.cause, lost.result.stop_reason) == (
        OutcomeKind.NOT_EVALUABLE,
        Cause.HARNESS,
        StopReason.FAULT,
    )
    assert "ResourceFailed: resource desk: " in outcome.detail
    assert lost.again == lost.result
    assert after.result.outcome.kind is OutcomeKind.PASSED
    assert (first.returncode, second.returncode) == (-signal.SIGKILL, 0)


async def test_tool_that_crashes_after_a_renewal_leaves_the_loans_as_they_were(
    play: Play, scenarios: dict[str, Scenario], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = TOOLS.get(DOMAIN, "renew_loan")

    async def renew_loan(context: ToolContext, book: str, days: int) -> ToolResult:
        await found.body(context, book, days)  # type: ignore[misc]
        raise ZeroDivisionError("after the renewal")

    broken = Tool(found.name, DOMAIN, found.side, ToolKind.WRITE, "", renew_loan, found.properties, uses=("desk",))
    monkeypatch.setitem(TOOLS._entries, (DOMAIN, "renew_loan"), broken)
    async with started_resources(scenarios.values()) as resources:
        done = await play(resources, scenarios["whales"], RENEW_WHALES)
    (returned,) = done.trace.of(ToolReturned)
    assert returned.result["error_type"] == "tool_crashed"
    assert [event.kind for event in done.trace.of(BotMessage)] == ["bot-error"]
    assert done.held == {"initial": BEFORE, "final": BEFORE}


async def test_service_that_was_started_by_hand_is_used_and_left_running(
    play: Play, scenarios: dict[str, Scenario]
) -> None:
    script, pipe = ROOT / "tools" / "lending" / "services" / "loan_desk.py", asyncio.subprocess.PIPE
    by_hand = await asyncio.create_subprocess_exec(sys.executable, script, stdin=pipe, stdout=pipe)
    try:
        assert by_hand.stdout is not None
        url = (await by_hand.stdout.readline()).decode().strip()
        async with started_resources(scenarios.values(), {"desk": url}) as resources:
            done = await play(resources, scenarios["whales"], RENEW_WHALES)
        assert done.result.outcome.kind is OutcomeKind.PASSED
        assert by_hand.returncode is None
    finally:
        await by_hand.communicate(b"")
    assert by_hand.returncode == 0


@pytest.mark.parametrize(
    ("agent", "passed", "kind"), [("reference", True, OutcomeKind.PASSED), ("do_nothing", False, OutcomeKind.FAILED)]
)
async def test_calls_without_sound_work_on_the_service_and_rescore_to_the_same(
    tmp_path: Path, scenarios: dict[str, Scenario], agent: str, passed: bool, kind: OutcomeKind
) -> None:
    async with started_resources(scenarios.values()) as resources:
        calls = TextCalls(agent, resources=resources)
        done = await run_attempt(tmp_path / "a", scenarios["whales"], calls, RunSettings())
    assert done.trace.of(Fault) == []
    assert (done.result.outcome.kind, done.verdict) == (kind, passed), done.result.outcome.detail
    assert (len(done.trace.of(DomainEvent)), done.reported["card_said"]) == ((1, True) if passed else (0, False))
    assert done.held == {"initial": BEFORE, "final": RIGHT if passed else BEFORE}
    assert done.again == done.result


@pytest.mark.parametrize(
    ("options", "passed", "failed"), [("", 2, 0), (" --agent do_nothing", 0, 2)], ids=["reference", "do_nothing"]
)
def test_commands_of_the_guide_do_what_it_says(options: str, passed: int, failed: int) -> None:
    command = f"python run_evaluation.py text --domain lending{options}"
    assert f"\n{command}\n" in GUIDE.read_text("utf-8")
    done = subprocess.run(
        [sys.executable, *command.split()[1:]],
        env={**os.environ, "DUOLOGUE_DOMAINS": str(ROOT)},
        cwd=GUIDE.parents[1],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert f"{passed} passed, {failed} failed" in done.stdout, done.stderr


def test_guide_shows_the_code_of_the_library_domain() -> None:
    text = GUIDE.read_text("utf-8")
    blocks = re.findall(r"```(?:python|json)\n# tests/library_domain/(\S+)\n(.*?)```", text, re.DOTALL)
    assert {path.split("/")[0] for path, _ in blocks} == {"tools", "scenarios"}
    for path, shown in blocks:
        for part in shown.split("\n...\n"):
            assert part.strip() in (ROOT / path).read_text("utf-8"), path
