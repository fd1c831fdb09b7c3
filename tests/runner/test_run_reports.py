import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from duologue.errors import TraceError
from duologue.records.action import Side
from duologue.records.event import BotReady, TraceHeader
from duologue.records.outcome import Outcome, OutcomeKind
from duologue.records.result import ScenarioResult
from duologue.records.scenario import Scenario, SideSpec, SignalName
from duologue.reports.files import write_json
from duologue.reports.run_files import load_results
from duologue.runner.folders import write_run_args
from duologue.runner.run_reports import run_context, write_run_reports
from duologue.toolkit.run_report import RUN_REPORTS, RunContext, RunFiles, RunReport
from duologue.trace.writer import TraceWriter

DOMAIN = "tau2_telecom"
"""Any domain of the checkout without reports of its own."""

SIDE = SideSpec(prompt="")
STARTED = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def add_attempt(run_dir: Path, name: str, *, about: dict[str, object], settings: dict[str, object]) -> None:
    """Write a scenario folder as an attempt leaves it."""
    scenario = Scenario(
        name=f"shop__{name}",
        domain=DOMAIN,
        task_id=name,
        user=SIDE,
        agent=SIDE,
        success_signals=(SignalName.CLEAN_EXIT,),
    )
    folder = run_dir / scenario.name
    folder.mkdir(parents=True)
    header = TraceHeader(
        run_id="r", epoch=name, utc_started="2025-01-01T00:00:00Z", scenario=scenario, settings=settings
    )
    writer = TraceWriter(folder / "trace.jsonl", header)
    writer.write(BotReady(seq=1, side=Side.AGENT, about=about))
    writer.close()
    result = ScenarioResult(
        run_id="r",
        attempt=1,
        seed=0,
        scenario=scenario.name,
        domain=DOMAIN,
        prefix="shop",
        family="",
        profile="default",
        scored_as="duologue",
        outcome=Outcome(kind=OutcomeKind.PASSED),
    )
    write_json(folder / "result.json", result.model_dump(mode="json"))


def a_run(run_dir: Path, **settings: object) -> Path:
    about: dict[str, object] = {"capabilities": {"brain": "openai", "stt": "whisper:bundled"}}
    add_attempt(run_dir, "one", about=about, settings=settings)
    add_attempt(run_dir, "two", about=about, settings=settings)
    return run_dir


@pytest.fixture
def report(monkeypatch: pytest.MonkeyPatch) -> list[RunContext]:
    """Register a report for the length of a test; what it was given is collected."""
    seen: list[RunContext] = []

    def build(results: Sequence[ScenarioResult], context: RunContext) -> RunFiles:
        seen.append(context)
        return RunFiles({"shop.json": {"n": len(results)}, "shop.txt": "two\n"}, {"tasks": len(results)})

    monkeypatch.setitem(RUN_REPORTS._entries, (DOMAIN, "shop"), RunReport(build))
    return seen


def test_files_of_a_report_stand_beside_those_of_the_run(tmp_path: Path, report: list[RunContext]) -> None:
    run_dir = a_run(tmp_path)
    assert write_run_reports(run_dir, load_results(run_dir)) == {"shop": {"tasks": 2}}
    assert json.loads((run_dir / "shop.json").read_text(encoding="utf-8")) == {"n": 2}
    assert (run_dir / "shop.txt").read_text(encoding="utf-8") == "two\n"


def test_context_comes_from_the_record_of_the_run_and_the_bot(tmp_path: Path, report: list[RunContext]) -> None:
    run_dir = a_run(tmp_path)
    write_run_args(run_dir, started=STARTED, argv=[], parsed={"suite": "safety"}, names=[])
    write_run_reports(run_dir, load_results(run_dir))
    assert report == [RunContext(STARTED.isoformat(), "openai", "safety", "", "whisper:bundled")]


def test_turn_agent_and_its_recogniser_are_named_by_the_settings(tmp_path: Path) -> None:
    run_dir = a_run(tmp_path, adapter="eliza", stt="groq:large")
    context = run_context(run_dir, load_results(run_dir))
    assert (context.agent, context.recogniser) == ("eliza", "groq:large")
    assert (context.started_utc, context.suite) == ("2025-01-01T00:00:00Z", "all")


def test_damaged_record_of_a_run_is_named(tmp_path: Path) -> None:
    run_dir = a_run(tmp_path)
    (run_dir / "run_args.json").write_text("{", encoding="utf-8")
    with pytest.raises(TraceError, match=r"run_args\.json"):
        run_context(run_dir, load_results(run_dir))
