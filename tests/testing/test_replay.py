"""The replay command: any domain's vectors, one line a file, a tally, an honest exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from duologue.testing import replay
from duologue.toolkit.vectors import VectorFormat

ROW = {
    "technology": "5G",
    "signal": "good",
    "poor_vpn": False,
    "data_saver": False,
    "mbps": 220.0,
    "label": "Excellent",
}
WRONG = {**ROW, "mbps": 1.0}
DOMAIN = ["--domain", "tau2_telecom"]


def write(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


def lines_of(*records: Any) -> str:
    return "\n".join(json.dumps(record) for record in records) + "\n"


def test_all_passed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [write(tmp_path / "a.jsonl", lines_of(ROW, ROW)), write(tmp_path / "b.json", json.dumps([ROW]))]
    assert replay.main([*DOMAIN, *files]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed == [f"{files[0]}: 2 passed, 0 failed", f"{files[1]}: 1 passed, 0 failed", "3 passed, 0 failed"]


def test_the_first_difference_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path / "a.jsonl", lines_of(ROW, WRONG, WRONG))
    assert replay.main([*DOMAIN, file]) == 1
    printed = capsys.readouterr().out.splitlines()
    assert printed[1] == "1 passed, 2 failed"
    assert printed[2].startswith(f"first difference: {file}: line 2: ")
    assert "mbps: 1.0 != 220.0" in printed[2]


def test_a_json_file_may_be_one_record(tmp_path: Path) -> None:
    assert replay.main([*DOMAIN, write(tmp_path / "one.json", json.dumps(ROW))]) == 0


def test_a_record_nobody_recognises_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert replay.main([*DOMAIN, write(tmp_path / "a.jsonl", lines_of(ROW, {"colour": "red"}))]) == 1
    assert "no loaded domain recognises this record (colour)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("empty.jsonl", " \n", "holds no records"),
        ("empty.json", "", "holds no records"),
        ("none.json", "[]", "holds no records"),
        ("broken.jsonl", '{"a": 1}\n{"a"', "line 2: not JSON"),
        ("notes.txt", "hello", "must end in .jsonl or .json"),
    ],
)
def test_a_file_that_proves_nothing_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str, complaint: str
) -> None:
    assert replay.main([*DOMAIN, write(tmp_path / name, text)]) == 1
    assert complaint in capsys.readouterr().out


def test_an_absent_file_fails_and_the_others_are_still_replayed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert replay.main([*DOMAIN, str(tmp_path / "absent.jsonl"), write(tmp_path / "a.jsonl", lines_of(ROW))]) == 1
    printed = capsys.readouterr().out
    assert "cannot be read: No such file" in printed
    assert "1 passed, 1 failed" in printed


def test_an_unknown_domain_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as stop:
        replay.main(["--domain", "nowhere", str(tmp_path)])
    assert stop.value.code == 2


def test_a_record_that_two_formats_claim_fails() -> None:
    claim = VectorFormat(lambda record: True, lambda record: [])
    assert "several formats" in replay.replay_record({}, [claim, claim])[0]


def test_a_malformed_record_is_a_difference_not_a_crash() -> None:
    def fail(record: Any) -> list[str]:
        return [record["absent"]]

    assert replay.replay_record({}, [VectorFormat(lambda record: True, fail)]) == [
        "cannot be replayed: KeyError: 'absent'"
    ]


@pytest.mark.slow
def test_the_command_runs_from_any_folder(tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", lines_of(ROW))
    command = [sys.executable, "-m", "duologue.testing.replay", file]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "1 passed, 0 failed")
