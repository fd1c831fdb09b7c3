from pathlib import Path

import pytest

from duologue.scoring.judge.cache import JudgeCache

KEY = {"version": 1, "model": "m", "sampling": {"seed": 42}}


def test_reply_comes_back_for_the_same_key_only(tmp_path: Path) -> None:
    cache = JudgeCache(tmp_path)
    cache.put(KEY, "half \ud800 ü")
    assert cache.get(KEY) == "half \ud800 ü"
    assert cache.get({**KEY, "sampling": {"seed": 43}}) is None


def test_only_whole_files_are_left_behind(tmp_path: Path) -> None:
    JudgeCache(tmp_path).put(KEY, "reply")
    assert [path.suffix for path in tmp_path.rglob("*") if path.is_file()] == [".json"]


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"key": {}, "reply": "other"}'])
def test_damaged_file_counts_as_none(tmp_path: Path, damage: bytes) -> None:
    cache = JudgeCache(tmp_path)
    cache.put(KEY, "reply")
    next(path for path in tmp_path.rglob("*.json")).write_bytes(damage)
    assert cache.get(KEY) is None


def test_folder_that_cannot_be_written_costs_only_a_request(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = JudgeCache(tmp_path / "file")
    cache.put(KEY, "reply")
    assert cache.get(KEY) is None
