import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from duologue.cli.evaluate import main
from duologue.records.conditions import LineConditions
from duologue.records.scenario import CatalogueOptions
from duologue.registry import load_domain
from duologue.toolkit.rules import CATALOGUES, RULES_NAME
from duologue.trace.reader import load_trace

ROOT = Path(__file__).parents[2]
SMALL = ("text", "--domain", "tau2_telecom", "--split", "small")
FILES = {"trace.jsonl", "result.json", "metrics.json", "conversation_log.txt", "bridge_log.txt"}


def test_counts_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*SMALL, "--agent", "do_nothing"]) == 0
    assert capsys.readouterr().out == "do_nothing: 0 passed, 40 failed, 0 not_evaluable\n"


@pytest.mark.slow
def test_scenarios_that_come_out_otherwise_are_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("duologue.text.call.MAX_UTTERANCES", 2)
    assert main(list(SMALL)) == 1
    *named, counts = capsys.readouterr().out.splitlines()
    assert len(named) == 40 and all(line.startswith("tau2_telecom") and ": failed" in line for line in named)
    assert counts == "reference: 0 passed, 40 failed, 0 not_evaluable"


def test_unknown_domain_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["text", "--domain", "nowhere"]) == 1
    assert "nowhere" in capsys.readouterr().err


def test_line_that_changes_sound_is_refused_before_any_call(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    load_domain("tau2_telecom")
    catalogue = CATALOGUES.get("tau2_telecom", RULES_NAME)
    first, second, *_ = catalogue.load(CatalogueOptions(split="small"))
    far = second.model_copy(update={"line": LineConditions.model_validate({"name": "far", "both": {"delay_ms": 20}})})
    changed = replace(catalogue, load=lambda options: [first, far])
    monkeypatch.setattr(CATALOGUES, "get", lambda domain, name: changed)
    assert main([*SMALL, "--output-dir", str(tmp_path)]) == 1
    assert f"{far.name}: the line 'far' changes sound, and a call in text has none" in capsys.readouterr().err
    assert not any(tmp_path.iterdir())


@pytest.mark.slow
def test_run_directory_is_that_of_any_run_and_equal_seeds_give_equal_calls(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = []
    for parent, seed in (("one", "3"), ("two", "3"), ("three", "4")):
        argv = [*SMALL, "--noise", "--seed", seed, "--output-dir", str(tmp_path / parent)]
        assert main(argv) == 0
        (run_dir,) = (tmp_path / parent).iterdir()
        runs.append(run_dir)
        assert capsys.readouterr().out == (
            f"run directory: {run_dir}\nreference: 40 passed, 0 failed, 0 not_evaluable\n"
        )
    one, two, three = ([load_trace(path) for path in sorted(run.glob("*/trace.jsonl"))] for run in runs)
    assert len(one) == 40 and {trace.header.seed for trace in one} == {3}
    assert [trace.events for trace in one] == [trace.events for trace in two]
    assert [trace.events for trace in one] != [trace.events for trace in three]
    folder = runs[0] / one[0].header.scenario.name
    assert {path.name for path in folder.iterdir()} >= FILES
    assert (runs[0] / "results.json").is_file()
    assert main(["rescore", str(runs[0])]) == 0
    assert "verdicts changed: 0" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("is_stored", [True, False], ids=["stored", "in memory"])
def test_ctrl_c_stops_between_two_scenarios(tmp_path: Path, is_stored: bool) -> None:
    stop = (
        "import os, signal, sys\n"
        "from duologue.cli.evaluate import main\n"
        "from duologue.text.call import TextCall\n"
        "prepare = TextCall._prepare\n"
        "seen = []\n"
        "async def interrupted(call):\n"
        "    seen.append(call)\n"
        "    if len(seen) == 3: os.kill(os.getpid(), signal.SIGINT)\n"
        "    await prepare(call)\n"
        "TextCall._prepare = interrupted\n"
        "code = main(sys.argv[1:])\n"
        "print(len(seen), file=sys.stderr)\n"
        "sys.exit(code)\n"
    )
    argv = [*SMALL, *(["--output-dir", str(tmp_path)] if is_stored else [])]
    done = subprocess.run([sys.executable, "-c", stop, *argv], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.splitlines()[-2:]) == (130, ["error: stopped", "3"])
    assert len(list(tmp_path.glob("*/*/result.json"))) == (3 if is_stored else 0)
