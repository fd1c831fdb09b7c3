"""Judges on stored runs, through the command line: rescoring with one, comparing two."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from duologue.cli.agreement import run_agreement
from duologue.cli.rescore import run_rescore
from duologue.records.action import Side
from duologue.records.scenario import CatalogueOptions, SignalName
from duologue.registry import load_domain
from duologue.runner.rescoring import rebuild_run_files, rescore_folder
from duologue.testing.builders import TraceBuilder
from duologue.testing.judge_double import JudgeDouble, JudgeStep, graded, judge_double
from duologue.toolkit.rules import CATALOGUES, RULES_NAME

pytestmark = pytest.mark.socket

STATEMENTS = ("The agent is polite.", "The agent names the cause.")
Serve = Callable[..., JudgeDouble]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Judges that answer from a loop of their own, as the command line runs loops itself."""
    stops: list[Callable[[], None]] = []

    def start(*steps: JudgeStep) -> JudgeDouble:
        ready = threading.Event()
        found: list[JudgeDouble] = []

        def end(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
            loop.call_soon_threadsafe(stop.set)
            thread.join()

        async def run() -> None:
            stop = asyncio.Event()
            loop = asyncio.get_running_loop()
            async with judge_double(*steps) as double:
                found.append(double)
                stops.append(lambda: end(loop, stop))
                ready.set()
                await stop.wait()

        thread = threading.Thread(target=asyncio.run, args=(run(),))
        thread.start()
        ready.wait(5)
        return found[0]

    yield start
    for stop in stops:
        stop()


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    load_domain("tau2_telecom")
    catalogue = CATALOGUES.get("tau2_telecom", RULES_NAME)
    gates = (SignalName.DB_STATE_ASSERTION, SignalName.NL_ASSERTION, SignalName.JUDGE_PASSED)
    folder = tmp_path / "eval_1"
    for scenario in catalogue.load(CatalogueOptions(profile=catalogue.profiles[0]))[:2]:
        changed = scenario.model_copy(update={"nl_assertions": STATEMENTS, "success_signals": gates})
        builder = TraceBuilder(changed).say(Side.AGENT, "Hello.", 0, 1000)
        for step in changed.reference_actions:
            builder.call_tool(step.side, step.name, **step.arguments)
        builder.hang_up().save(folder / scenario.name)
        rescore_folder(folder / scenario.name)
    rebuild_run_files(folder)
    return folder


def results(run_dir: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted(run_dir.glob("*/result.json"))]


def outcomes(run_dir: Path) -> list[tuple[str, str | None]]:
    return [(item["outcome"]["kind"], item["outcome"]["cause"]) for item in results(run_dir)]


def contents(run_dir: Path) -> dict[str, bytes]:
    return {str(path.relative_to(run_dir)): path.read_bytes() for path in run_dir.rglob("*") if path.is_file()}


def spec(double: JudgeDouble, model: str = "grader") -> str:
    return f"{model}@{double.url}"


def test_run_without_a_judge_becomes_evaluable_when_rescored_with_one(run_dir: Path, serve: Serve) -> None:
    assert outcomes(run_dir) == [("not_evaluable", "judge")] * 2
    double = serve(graded(1.0, claims=[True, True]), graded(0.4, claims=[True, False]))
    assert run_rescore([str(run_dir), "--judge", spec(double)]) == 0
    assert outcomes(run_dir) == [("passed", None), ("failed", None)]
    metrics = [json.loads(path.read_text()) for path in sorted(run_dir.glob("*/metrics.json"))]
    assert [(item["judge_score"], item["judge_passed"], item["nl_assertion_pass_rate"]) for item in metrics] == [
        (1.0, True, 1.0),
        (0.4, False, 0.5),
    ]


def test_second_rescoring_makes_no_request_and_changes_no_byte(run_dir: Path, serve: Serve) -> None:
    double = serve(graded(1.0, claims=[True, True]))
    run_rescore([str(run_dir), "--judge", spec(double)])
    before = contents(run_dir)
    assert double.requests == 2
    run_rescore([str(run_dir), "--judge-url", double.url, "--judge-model", "grader"])
    run_rescore([str(run_dir)])
    assert (double.requests, contents(run_dir)) == (2, before)


def test_another_judge_changes_only_judge_fields(run_dir: Path, serve: Serve) -> None:
    run_rescore([str(run_dir), "--judge", spec(serve(graded(1.0, claims=[True, True])))])
    files, before = contents(run_dir), results(run_dir)
    run_rescore([str(run_dir), "--judge", spec(serve(graded(0.5, claims=[True, False])), "other")])
    changed = {Path(name).name for name, data in contents(run_dir).items() if files.get(name) != data}
    assert changed == {
        "judge_result.json",
        "result.json",
        "metrics.json",
        "conversation_log.txt",
        "results.json",
        "all_metrics.json",
        "all_summary.txt",
    }
    for old, new in zip(before, results(run_dir), strict=True):
        assert {key for key in old if old[key] != new[key]} <= {
            "outcome",
            "is_task_successful",
            "verdicts",
            "breakdown",
        }
        signals = [(one["signal"], one == two) for one, two in zip(old["verdicts"], new["verdicts"], strict=True)]
        assert {name for name, equal in signals if not equal} == {"nl_assertion", "judge_passed"}


def test_judge_that_breaks_leaves_attempts_not_evaluable_and_can_be_asked_again(run_dir: Path, serve: Serve) -> None:
    broken = serve(JudgeStep("no", status=401))
    assert run_rescore([str(run_dir), "--judge", spec(broken)]) == 0
    assert outcomes(run_dir) == [("not_evaluable", "judge")] * 2
    assert "401" in results(run_dir)[0]["outcome"]["detail"]
    run_rescore([str(run_dir), "--judge", spec(serve(graded(1.0, claims=[True, True])))])
    assert outcomes(run_dir) == [("passed", None)] * 2


def test_key_is_in_no_file(run_dir: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-hidden")
    double = serve(graded(1.0, claims=[True, True]), JudgeStep("bad key sk-hidden", status=401))
    run_rescore([str(run_dir), "--judge", spec(double), "--judge-api-key-name", "MY_KEY"])
    assert double.headers[0]["Authorization"] == "Bearer sk-hidden"
    assert [name for name, data in contents(run_dir.parent).items() if b"sk-hidden" in data] == []


def test_reply_about_another_trace_is_refused(run_dir: Path, serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
    run_rescore([str(run_dir), "--judge", spec(serve(graded(1.0, claims=[True, True])))])
    trace = next(iter(sorted(run_dir.glob("*/trace.jsonl"))))
    trace.write_bytes(trace.read_bytes().replace(b"Hello.", b"Howdy."))
    assert run_rescore([str(run_dir)]) == 3
    assert "about another trace" in capsys.readouterr().err


def test_agreement_of_two_judges_leaves_the_scores_alone(
    run_dir: Path, serve: Serve, capsys: pytest.CaptureFixture[str]
) -> None:
    before = results(run_dir)
    first = serve(graded(1.0, claims=[True, True]), graded(0.9, claims=[False, False]))
    second = serve(graded(0.8, claims=[True, False]), graded(0.95, claims=[False, False]))
    assert run_agreement([str(run_dir), "--judge", spec(first), "--judge", spec(second)]) == 0
    report = json.loads((run_dir / "judge_agreement.json").read_text())
    assert (report["attempts"]["agreement"], report["claims"]["agreement"], report["claims"]["kappa"]) == (
        0.5,
        0.75,
        0.5,
    )
    assert report["scores"]["mean"] == pytest.approx(0.075)
    assert results(run_dir) == before
    assert "75.0%" in capsys.readouterr().out


def test_agreement_of_stored_replies_asks_nobody(run_dir: Path, serve: Serve) -> None:
    double = serve(graded(1.0, claims=[True, True]))
    run_rescore([str(run_dir), "--judge", spec(double)])
    for path in run_dir.glob("*/judge_result.json"):
        path.with_name("judge_result.mine.json").write_bytes(path.read_bytes())
    asked = double.requests
    arguments = [str(run_dir), "--judge", "judge_result.json", "--judge", "judge_result.mine.json"]
    assert run_agreement(arguments) == 0
    assert double.requests == asked
    assert run_agreement([*arguments[:3], "--judge", "judge_result.nobody.json"]) == 1


@pytest.mark.parametrize("run", [run_agreement, run_rescore])
def test_going_without_a_judge_is_no_option_for_stored_runs(
    run: Callable[[list[str]], int], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        run(["--help"])
    shown = capsys.readouterr().out
    assert "--judge-url" in shown
    assert "--no-judge" not in shown
