import json
from pathlib import Path

import pytest

from duologue.reports.files import write_json, write_text


def test_file_appears_whole_and_leaves_no_temporary(tmp_path: Path) -> None:
    write_json(tmp_path / "deep" / "a.json", {"b": 1, "a": "é"})
    assert (tmp_path / "deep" / "a.json").read_text(encoding="utf-8") == '{\n  "a": "é",\n  "b": 1\n}\n'
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["a.json"]


def test_equal_file_is_left_alone(tmp_path: Path) -> None:
    write_text(tmp_path / "a.txt", "same")
    before = (tmp_path / "a.txt").stat().st_mtime_ns, (tmp_path / "a.txt").stat().st_ino
    write_text(tmp_path / "a.txt", "same")
    assert ((tmp_path / "a.txt").stat().st_mtime_ns, (tmp_path / "a.txt").stat().st_ino) == before


def test_value_that_is_not_json_keeps_the_old_file(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", [1])
    with pytest.raises(TypeError):
        write_json(tmp_path / "a.json", {1, 2})
    assert json.loads((tmp_path / "a.json").read_text()) == [1]


def test_a_write_that_breaks_off_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def disk_is_full(_: int) -> None:
        raise OSError("no space left")

    write_text(tmp_path / "a.txt", "old")
    monkeypatch.setattr("duologue.reports.files.os.fsync", disk_is_full)
    with pytest.raises(OSError, match="no space left"):
        write_text(tmp_path / "a.txt", "new")
    assert (tmp_path / "a.txt").read_text() == "old"
