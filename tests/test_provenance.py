import importlib
from pathlib import Path

import pytest

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


def test_folders_beside_the_tools_count_as_the_domain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("scenarios", "tools", "sync"):
        package = importlib.import_module(place)
        monkeypatch.setattr(package, "__path__", [*package.__path__])
    monkeypatch.setenv("DUOLOGUE_DOMAINS", str(tmp_path))
    (scenario,) = build_scenarios(Selection(prefix="tau2_telecom", limit=1))
    found = []
    for number, name in enumerate(("services/desk.py", "services/schema.sql", "rules/policy.yaml", "services/x.pyc")):
        services = tmp_path / "tools" / f"shelf_{number}"
        for path in (services / name, services / "services" / "same.py", services / "services" / "same.sql"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("x", encoding="utf-8")
        (services / name).write_text("changed", encoding="utf-8")
        found.append(collect_provenance(scenario.model_copy(update={"domain": f"shelf_{number}"})))
    code, data, rules, bytecode = found
    assert code["code"] != bytecode["code"] and code["data"] == bytecode["data"]
    assert data["code"] == bytecode["code"] and data["data"] != bytecode["data"]
    assert rules["data"] not in (bytecode["data"], data["data"])


def test_provenance_tells_two_scenarios_apart_and_shares_the_code() -> None:
    first, second = build_scenarios(Selection(prefix="tau2_telecom", limit=2))
    one, two = collect_provenance(first), collect_provenance(second)
    assert one["scenario"] != two["scenario"]
    assert (one["code"], one["data"]) == (two["code"], two["data"])
    assert {"pipecat-ai", "websockets"} <= set(one["packages"])
