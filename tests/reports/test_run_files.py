import csv
import json
from pathlib import Path

import pytest

from duologue.errors import TraceError
from duologue.reports.run_files import latencies_csv, load_result, load_results, write_run_files
from duologue.scoring.aggregate import aggregate_results
from tests.reports.conftest import WriteCall


def rebuild(run_dir: Path) -> None:
    run = load_results(run_dir)
    write_run_files(run_dir, run, aggregate_results(run.results))


def test_run_files_come_from_the_folders_alone(tmp_path: Path, write_call: WriteCall) -> None:
    write_call(tmp_path / "shop__b", name="shop__b")
    write_call(tmp_path / "shop__a", name="shop__a", done=False)
    rebuild(tmp_path)
    results = json.loads((tmp_path / "results.json").read_text())
    assert [(item["scenario"], item["outcome"]["kind"]) for item in results["outcomes"]] == [
        ("shop__a", "failed"),
        ("shop__b", "passed"),
    ]
    assert results["aggregates"]["overall"]["success"]["rate"] == 0.5
    assert [item["scenario_name"] for item in json.loads((tmp_path / "all_metrics.json").read_text())] == [
        "shop__a",
        "shop__b",
    ]


def test_rebuilding_changes_no_byte(tmp_path: Path, write_call: WriteCall) -> None:
    write_call(tmp_path / "shop__a", name="shop__a")
    rebuild(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    rebuild(tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before
    assert set(before) == {"all_metrics.json", "all_latencies.csv", "all_summary.txt", "results.json"}


def test_unreadable_result_is_named_and_left_out(tmp_path: Path, write_call: WriteCall) -> None:
    write_call(tmp_path / "shop__a", name="shop__a")
    write_call(tmp_path / "shop__b", name="shop__b")
    (tmp_path / "shop__b" / "result.json").write_text("{")
    run = load_results(tmp_path)
    assert [result.scenario for result in run.results] == ["shop__a"]
    assert "shop__b/result.json: not a result of this version" in run.problems[0]


def test_folders_moved_aside_and_foreign_folders_are_not_read(tmp_path: Path, write_call: WriteCall) -> None:
    write_call(tmp_path / "shop__a.killed.20250225")
    (tmp_path / "notes").mkdir()
    assert load_results(tmp_path).stored == ()


def test_missing_result_names_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"rescore rebuilds it"):
        load_result(tmp_path)


def test_csv_quotes_texts_and_gives_one_decimal(tmp_path: Path, write_call: WriteCall) -> None:
    text = latencies_csv([write_call(tmp_path)])
    assert text.splitlines() == [
        "Scenario,User_Transcript,Agent_Transcript,Latency_ms",
        'shop__price,"The price, ""please"".","Done, goodbye.",500.0',
    ]
    assert next(csv.DictReader(text.splitlines()))["User_Transcript"] == 'The price, "please".'


def test_a_scenario_name_is_one_cell_of_the_csv_whatever_it_holds(tmp_path: Path, write_call: WriteCall) -> None:
    name = 'shop__a,b "c"\nd'
    rows = list(csv.DictReader(latencies_csv([write_call(tmp_path, name=name)]).splitlines(keepends=True)))
    assert [(row["Scenario"], row["Latency_ms"]) for row in rows] == [(name, "500.0")]
