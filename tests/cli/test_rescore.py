import json
from pathlib import Path

import pytest

from duologue.cli.rescore import run_rescore
from duologue.records.action import Side
from duologue.records.event import RecordingWritten, SummaryPulled
from duologue.records.scenario import CatalogueOptions, Scenario
from duologue.registry import load_domain
from duologue.runner.rescoring import rebuild_run_files, rescore_folder
from duologue.testing.builders import TraceBuilder, write_recording
from duologue.toolkit.phrasebook import PHRASEBOOKS
from duologue.toolkit.rules import CATALOGUES, RULES_NAME


@pytest.fixture(scope="module")
def scenarios() -> list[Scenario]:
    load_domain("tau2_telecom")
    catalogue = CATALOGUES.get("tau2_telecom", RULES_NAME)
    found = catalogue.load(CatalogueOptions(profile=catalogue.profiles[0]))
    plain = next(item for item in found if not any(step.compare_args == () for step in item.reference_actions))
    transfer = next(item for item in found if any(step.compare_args == () for step in item.reference_actions))
    return [plain, transfer]


def requests(scenario: Scenario) -> str:
    """What an agent says to have the caller do its steps of the reference solution."""
    book = PHRASEBOOKS.get(scenario.domain, RULES_NAME)
    steps = [step for step in scenario.reference_actions if step.side is Side.USER]
    asked = [book.request(step.name, step.arguments) for step in steps]
    return " ".join(request.phrasings[0] for request in asked if request is not None)


def store(run_dir: Path, scenario: Scenario, *, solved: bool = True) -> Path:
    folder = run_dir / scenario.name
    words = f"Hello. {requests(scenario)}"
    builder = TraceBuilder(scenario).say(Side.AGENT, words, 0, 1000).say(Side.USER, "Help.", 2000, 3000)
    for step in scenario.reference_actions if solved else ():
        builder.call_tool(step.side, step.name, **step.arguments)
    builder.say(Side.AGENT, "Goodbye.", 4000, 5000).hang_up()
    folder.mkdir(parents=True)
    info = write_recording(folder / "conversation_log.wav", agent=[(0, 1000), (4000, 5000)], user=[(2000, 3000)])
    event = RecordingWritten(path="x", sha256=info.sha256, sample_rate_hz=16_000, samples=info.samples)
    builder.add(event).save(folder)
    return folder


@pytest.fixture
def run_dir(tmp_path: Path, scenarios: list[Scenario]) -> Path:
    for scenario, solved in zip(scenarios, (True, False), strict=True):
        rescore_folder(store(tmp_path, scenario, solved=solved))
    rebuild_run_files(tmp_path)
    return tmp_path


def contents(run_dir: Path) -> dict[str, bytes]:
    return {str(path.relative_to(run_dir)): path.read_bytes() for path in run_dir.rglob("*") if path.is_file()}


def outcomes(run_dir: Path) -> list[str]:
    return [item["outcome"]["kind"] for item in json.loads((run_dir / "results.json").read_text())["outcomes"]]


def test_rescoring_what_did_not_change_changes_no_byte(run_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(run_dir)
    assert run_rescore([str(run_dir)]) == 0
    assert contents(run_dir) == before
    assert "rescored 2 of 2; verdicts changed: 0" in capsys.readouterr().out
    assert sorted(outcomes(run_dir)) == ["failed", "passed"]


def test_lost_files_are_rebuilt_to_the_byte(run_dir: Path) -> None:
    before = contents(run_dir)
    for name in before:
        if not name.endswith((".wav", "trace.jsonl")):
            (run_dir / name).unlink()
    assert run_rescore([str(run_dir)]) == 0
    assert contents(run_dir) == before


def test_reference_rules_let_the_silent_transfer_pass_and_back(
    run_dir: Path, scenarios: list[Scenario], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_rescore([str(run_dir), "--compat", "reference"]) == 0
    out = capsys.readouterr().out
    assert f"{scenarios[1].name}: failed -> passed" in out
    assert json.loads((run_dir / "results.json").read_text())["scored_as"] == ["reference"]
    assert run_rescore([str(run_dir)]) == 0
    assert sorted(outcomes(run_dir)) == ["failed", "passed"]


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("trace.jsonl", b'{"event":"header","schema_version":99}\n'),
        ("trace.jsonl", None),
        ("conversation_log.wav", b"RIFF"),
        ("conversation_log.wav", None),
    ],
)
def test_unreadable_folder_is_named_and_skipped(
    run_dir: Path, scenarios: list[Scenario], name: str, damage: bytes | None, capsys: pytest.CaptureFixture[str]
) -> None:
    path = run_dir / scenarios[0].name / name
    path.unlink() if damage is None else path.write_bytes(damage)
    assert run_rescore([str(run_dir)]) == 3
    printed = capsys.readouterr()
    assert f"skipped {scenarios[0].name}" in printed.err
    assert "rescored 1 of 2" in printed.out


def test_folder_without_runs_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_rescore([str(tmp_path)]) == 1
    assert run_rescore([str(tmp_path / "nowhere")]) == 1
    assert "is not a run directory" in capsys.readouterr().err


def test_missing_summary_becomes_not_evaluable_and_is_counted_as_a_change(
    run_dir: Path, scenarios: list[Scenario], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = run_dir / scenarios[0].name
    (folder / "trace.jsonl").unlink()
    (folder / "conversation_log.wav").unlink()
    TraceBuilder(scenarios[0]).hang_up().drop(SummaryPulled).save(folder)
    assert run_rescore([str(run_dir)]) == 0
    assert f"{scenarios[0].name}: passed -> not_evaluable" in capsys.readouterr().out
