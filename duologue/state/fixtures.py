"""Loading domain databases, from the data root only."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from duologue.errors import FixtureError
from duologue.registry import domain_roots

__all__ = ["data_file", "load_db", "read_json", "read_text"]

# Thousands of times a usual database; what is larger is a wrong file, and would be copied for each attempt.
MAX_FIXTURE_BYTES = 64 * 1024 * 1024


def data_roots() -> list[Path]:
    """Return the folders that databases may come from.

    ``EVAL_DATA_ROOT``, read at call time, replaces them; otherwise they are ``data/`` under each domain root.
    """
    override = os.environ.get("EVAL_DATA_ROOT")
    if override:
        return [Path(override).resolve()]
    return [root / "data" for root in domain_roots()]


def data_file(relative: str) -> Path:
    """Return the path of an existing file or folder under a data root.

    Raises:
        FixtureError: the path is absolute, leaves the root (also through a link), or does not exist.
    """
    if not relative or "\x00" in relative or Path(relative).is_absolute() or ".." in Path(relative).parts:
        raise FixtureError(f"data path {relative!r} must be relative and stay under the data root")
    for root in data_roots():
        try:
            path = (root / relative).resolve()
            if not path.is_relative_to(root):
                raise FixtureError(f"data path {relative!r} leaves the data root {root}")
            if path.exists():
                return path
        except (OSError, RuntimeError) as error:
            reason = getattr(error, "strerror", None) or error
            raise FixtureError(f"data path {relative[:200]!r} cannot be used ({reason})") from error
    where = ", ".join(str(root) for root in data_roots())
    why = "; EVAL_DATA_ROOT names that folder" if os.environ.get("EVAL_DATA_ROOT") else ""
    raise FixtureError(f"no file {relative!r} under {where}{why}")


def read_text(path: Path) -> str:
    """Return what a text file says.

    Raises:
        FixtureError: unreadable, not UTF-8, or empty; the message names the file.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise FixtureError(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise FixtureError(f"{path}: not UTF-8 text ({error})") from error
    if not text.strip():
        raise FixtureError(f"{path}: empty")
    return text


def read_json(path: Path) -> Any:
    """Return the JSON value of a file.

    Raises:
        FixtureError: too large, unreadable or not JSON; the message names the file.
    """
    try:
        if path.stat().st_size > MAX_FIXTURE_BYTES:
            raise FixtureError(f"{path}: larger than {MAX_FIXTURE_BYTES} bytes")
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FixtureError(f"{path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise FixtureError(f"{path}: not JSON ({error})") from error


def load_db(db_path: str) -> dict[str, Any]:
    """Return the database ``db_path``: a JSON file, or a folder whose ``<table>.json`` files are its tables.

    A trailing ``.json`` is optional.

    Raises:
        FixtureError: see :func:`data_file` and :func:`read_json`; also when the value is not an object.
    """
    stem = db_path.removesuffix(".json")
    try:
        path = data_file(f"{stem}.json")
    except FixtureError:
        path = data_file(stem)
    if path.is_dir():
        return {table.stem: read_json(table) for table in sorted(path.glob("*.json"))}
    value = read_json(path)
    if not isinstance(value, dict):
        raise FixtureError(f"{path}: a database must be a JSON object")
    return value
