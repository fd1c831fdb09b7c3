from pathlib import Path

from duologue.provenance import collect_provenance, digest_files
from duologue.runner.build import build_scenarios
from duologue.runner.settings import Selection


def tree(root: Path, **files: str) -> Path:
    for name, text in files.items():
        path = root / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def test_equal_trees_have_equal_digests_wherever_they_are(tmp_path: Path) -> None:
    first = tree(tmp_path / "a", one="x = 1", deep__two="y = 2")
    second = tree(tmp_path / "b", deep__two="y = 2", one="x = 1")
    assert digest_files([first], (".py",)) == digest_files([second], (".py",))


def test_content_name_and_suffix_count(tmp_path: Path) -> None:
    before = digest_files([tree(tmp_path / "a", one="x = 1")], (".py",))
    assert digest_files([tree(tmp_path / "b", one="x = 2")], (".py",)) != before
    assert digest_files([tree(tmp_path / "c", other="x = 1")], (".py",)) != before
    (tmp_path / "a" / "cache.pyc").write_text("", encoding="utf-8")
    assert digest_files([tmp_path / "a"], (".py",)) == before


def test_missing_place_is_empty(tmp_path: Path) -> None:
    assert digest_files([tmp_path / "none"], (".py",)) == digest_files([], (".py",))


def test_provenance_tells_two_scenarios_apart_and_shares_the_code() -> None:
    first, second = build_scenarios(Selection(prefix="tau2_telecom", limit=2))
    one, two = collect_provenance(first), collect_provenance(second)
    assert one["scenario"] != two["scenario"]
    assert (one["code"], one["data"]) == (two["code"], two["data"])
    assert {"pipecat-ai", "websockets"} <= set(one["packages"])
