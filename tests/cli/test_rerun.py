"""``--rerun`` from the command line to a new run directory."""

import json
from pathlib import Path
from typing import Any

import pytest

from duologue.cli.evaluate import main
from duologue.records.outcome import StopReason
from duologue.reports.run_files import load_results
from duologue.runner.build import build_scenarios
from duologue.runner.rescoring import rescore_folder
from duologue.runner.settings import Selection
from duologue.testing.builders import TraceBuilder
from duologue.turn_agents.turn import MessageTurn

ROOT = Path(__file__).parents[2]
SCENARIOS = ("voiceagentbench__safety__vab-ex-safety-01", "voiceagentbench__single__vab-ex-single-01")


class Refuses:
    """A turn agent that refuses everything."""

    async def __call__(self, history: list[MessageTurn], tool_manifest: list[dict[str, Any]]) -> MessageTurn:
        return MessageTurn("assistant", "I cannot do that.")


@pytest.fixture(autouse=True)
def at_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def store(run_dir: Path, name: str, *, is_whole: bool) -> None:
    (scenario,) = build_scenarios(Selection(names=(name,)))
    folder = run_dir / name
    folder.mkdir(parents=True)
    builder = TraceBuilder(scenario)
    (builder.hang_up() if is_whole else builder.end(StopReason.BOT_LOST)).save(folder)
    rescore_folder(folder)


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    """A stored run in which the first scenario was evaluable and the second was not."""
    found = tmp_path / "eval_1"
    for name, is_whole in zip(SCENARIOS, (True, False), strict=True):
        store(found, name, is_whole=is_whole)
    return found


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_names_of_what_would_be_run_again_are_listed(run_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--rerun", str(run_dir), "--list"]) == 0
    assert capsys.readouterr().out.split() == [SCENARIOS[1]]


@pytest.mark.speech
def test_what_was_not_evaluable_is_run_into_a_new_run_and_the_stored_one_stays(run_dir: Path, tmp_path: Path) -> None:
    before, out = contents(run_dir), tmp_path / "out"
    argv = ["--rerun", str(run_dir), "--adapter", f"{__name__}:Refuses", "--output-dir", str(out), "--quiet"]
    assert main(argv) == 0
    (new,) = out.glob("eval_*")
    assert [item.result.scenario for item in load_results(new).stored] == [SCENARIOS[1]]
    assert contents(run_dir) == before
    (invocation,) = json.loads((new / "run_args.json").read_text(encoding="utf-8"))["invocations"]
    assert invocation["rerun"]["run_dir"] == str(run_dir)
    assert [item["scenario"] for item in invocation["rerun"]["attempts"]] == [SCENARIOS[1]]


def test_nothing_to_run_again_is_code_1_and_makes_no_run(
    run_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["--rerun", str(run_dir), "--cause", "user_sim", "--output-dir", str(out)]) == 1
    assert "nothing to run again for --cause user_sim; not evaluable were: 1 transport" in capsys.readouterr().err
    assert main(["--rerun", str(tmp_path / "nowhere"), "--output-dir", str(out)]) == 1
    assert "nowhere: no such run directory" in capsys.readouterr().err
    assert not out.exists()
