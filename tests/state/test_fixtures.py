"""Databases come from the data root, and from nowhere else."""

import json
from pathlib import Path

import pytest

from duologue.errors import FixtureError
from duologue.state.fixtures import data_file, load_db, read_text


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    (tmp_path / "secret.json").write_text('{"secret": true}')
    (folder / "link.json").symlink_to(tmp_path / "secret.json")
    (folder / "up").symlink_to(tmp_path)
    (folder / "loop").symlink_to(folder / "loop")
    monkeypatch.setenv("EVAL_DATA_ROOT", str(folder))
    return folder


@pytest.mark.parametrize(
    "path",
    [
        *("", "..", "../secret", "../secret.json", "a/../../secret", "/etc/passwd", "link", "link.json", "up/secret"),
        *("secret\x00.json", "loop", "loop/db", "x" * 5000, "nowhere", "./../secret", "~/secret", "%2e%2e/secret"),
    ],
)
def test_no_path_leads_out_of_the_data_root(path: str) -> None:
    with pytest.raises(FixtureError):
        load_db(path)


def test_a_root_that_does_not_exist_is_named_with_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVAL_DATA_ROOT", "/nonexistent")
    with pytest.raises(FixtureError, match=r"no file 'shop/db' under /nonexistent; EVAL_DATA_ROOT names that folder"):
        data_file("shop/db")


def test_a_database_is_a_file_or_a_folder_of_tables(root: Path) -> None:
    (root / "shop").mkdir()
    (root / "shop" / "items.json").write_text("[1]")
    (root / "shop.json").write_text('{"a": 1}')
    assert load_db("shop") == load_db("shop.json") == {"a": 1}
    (root / "shop.json").unlink()
    assert load_db("shop") == {"items": [1]}


@pytest.mark.parametrize("text", ["", "{", "[1]", "null", '"x"', "[" * 100_000, '{"a": ' + "9" * 5000 + "}"])
def test_what_is_no_database_is_an_error_that_names_the_file(root: Path, text: str) -> None:
    (root / "db.json").write_text(text)
    with pytest.raises(FixtureError, match=r"db\.json: "):
        load_db("db")


@pytest.mark.parametrize(("content", "words"), [(b"", "empty"), (b" \n\t", "empty"), (b"\xff", "not UTF-8 text")])
def test_a_text_that_says_nothing_is_an_error_that_names_the_file(root: Path, content: bytes, words: str) -> None:
    (root / "policy.md").write_bytes(content)
    with pytest.raises(FixtureError, match=rf"policy\.md: {words}"):
        read_text(root / "policy.md")
    with pytest.raises(FixtureError, match=r"other\.md: No such file"):
        read_text(root / "other.md")


def test_a_file_that_is_no_text_is_an_error_that_names_the_file(root: Path) -> None:
    (root / "db.json").write_bytes(json.dumps({"a": "é"}, ensure_ascii=False).encode("latin-1"))
    with pytest.raises(FixtureError, match=r"db\.json: not JSON"):
        load_db("db")
