"""Domains use what the engine promises to authors, and the promise changes in the open only."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.authors_surface import STORED, public_modules, surface

ROOT = Path(__file__).parents[1]
DOMAIN_CODE = ("scenarios", "tools", "sync", "tests/toy_domain", "tests/recorded_domain", "tests/library_domain")
ADVICE = """\
Domains of others break when a name goes or is called in another way. If that is meant, tell authors in CHANGELOG.md
what to do, and store the surface with: python -m tests.authors_surface --store"""


def imports(path: Path) -> Iterator[tuple[str, str]]:
    """Give module and name of everything that a file imports from the engine; an empty name for a whole module."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "duologue":
            yield from ((node.module or "", alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names if alias.name.split(".")[0] == "duologue")


def files() -> list[Path]:
    return [path for place in DOMAIN_CODE for path in sorted((ROOT / place).rglob("*.py"))]


@pytest.mark.parametrize("path", files(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_domain_imports_what_authors_may_use(path: Path) -> None:
    modules = public_modules()
    others = [
        f"{module}.{name}" for module, name in imports(path) if name not in getattr(modules.get(module), "__all__", ())
    ]
    assert others == [], "not in the __all__ of its module"


def test_domains_were_found() -> None:
    assert sum(1 for path in files() for _ in imports(path)) > 150


def test_each_public_name_exists() -> None:
    missing = [
        f"{path}.{name}"
        for path, module in public_modules().items()
        for name in module.__all__
        if not hasattr(module, name)
    ]
    assert missing == []


def test_surface_is_the_declared_one() -> None:
    stored, found = STORED.read_text(encoding="utf-8").splitlines(), surface()
    gone = [f"- {line}" for line in stored if line not in set(found)]
    new = [f"+ {line}" for line in found if line not in set(stored)]
    assert found == stored, "\n".join([*gone, *new, ADVICE])


def test_guide_names_public_modules_only() -> None:
    """The table of what a domain may import."""
    guide = (ROOT / "docs" / "authoring.md").read_text(encoding="utf-8")
    table = guide.partition("## What a domain may import")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `duologue.")]
    named = {module.strip(" `") for row in rows for module in row.split(",")}
    assert named and named <= set(public_modules())
