"""The run directory: its name, the scenario folders, the record of how the run was started."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from duologue.errors import ConfigError, DuologueError
from duologue.records.redaction import REDACTED, redact_url
from duologue.records.run_layout import RUN_ARGS, run_name

_MAX_NAME = 230  # file systems allow 255 bytes; the rest is for the number of the trial
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")
_SECRET = re.compile(r"(^|[-_])(token|key|secret|password)$", re.IGNORECASE)


def create_run_dir(output_dir: Path, started: datetime) -> Path:
    """Create and return ``eval_<YYYYmmdd_HHMMSS>`` (UTC); a number is added when it exists.

    Raises:
        ConfigError: nothing can be written there.
    """
    number = 1
    try:
        output_dir.mkdir(parents=True, exist_ok=True)
        while True:
            run_dir = output_dir / run_name(started, number)
            number += 1
            with contextlib.suppress(FileExistsError):
                run_dir.mkdir()
                return run_dir
    except OSError as error:
        raise ConfigError(
            f"--output-dir {output_dir}: no run can be written there ({error.strerror or error}); name another folder"
        ) from error


@contextlib.contextmanager
def removed_if_nothing_ran(run_dir: Path) -> Iterator[None]:
    """Remove a run directory without any folder, of an attempt or of bot logs, when an error ends the block."""
    try:
        yield
    except DuologueError:
        if not any(path.is_dir() for path in run_dir.iterdir()):
            shutil.rmtree(run_dir)
        raise


def folder_names(names: Sequence[str], lines: Sequence[str] = ()) -> list[str]:
    """Return one folder name for each scenario name; the scenario name itself wherever a file system allows it.

    ``lines`` holds for each the name of a line that is not the scenario's own, or an empty text.
    """
    taken: set[str] = set()
    folders = []
    for name, line in zip(names, lines or [""] * len(names), strict=True):
        ending = f"__line_{line}" if line else ""
        stem = (_UNSAFE.sub("_", name)[: _MAX_NAME - len(ending)].lstrip(".") or "scenario") + ending
        folder, number = stem, 1
        while folder.lower() in taken:
            number += 1
            folder = f"{stem}_{number}"
        taken.add(folder.lower())
        folders.append(folder)
    return folders


def redact_argv(argv: Sequence[str]) -> list[str]:
    """Return the command line with the values of secret options replaced."""
    shown: list[str] = []
    hide_next = False
    for word in argv:
        option, equals, _ = word.partition("=")
        is_secret = option.startswith("--") and _SECRET.search(option) is not None
        if hide_next and not word.startswith("--"):
            shown.append(REDACTED)
        elif is_secret and equals:
            shown.append(f"{option}={REDACTED}")
        else:
            shown.append(redact_url(word))
        hide_next = is_secret and not equals
    return shown


def redact_values(values: Mapping[str, object]) -> dict[str, object]:
    """Return ``values`` with those under secret names replaced, unless they are empty."""
    return {
        key: REDACTED if value and _SECRET.search(key) else redact_url(value) if isinstance(value, str) else value
        for key, value in values.items()
    }


def write_run_args(
    run_dir: Path,
    *,
    started: datetime,
    argv: Sequence[str],
    parsed: Mapping[str, object],
    names: Sequence[str],
    rerun: Mapping[str, object] | None = None,
) -> None:
    """Write ``run_args.json``: one invocation with its arguments and the scenarios it resolved to, secrets redacted.

    ``rerun`` says which attempts of a stored run are run again.
    """
    invocation = {
        "started_at": started.isoformat(),
        "argv": redact_argv(argv),
        "parsed_args": redact_values(parsed),
        "environment": redact_values(_duologue_environment()),
        "resolved_scenario_count": len(names),
        "resolved_scenario_names": list(names),
        **({"rerun": dict(rerun)} if rerun is not None else {}),
    }
    text = json.dumps({"invocations": [invocation]}, indent=2, ensure_ascii=False, default=str)
    temporary = run_dir / f".{RUN_ARGS}.tmp"
    temporary.write_text(text + "\n", encoding="utf-8")
    temporary.replace(run_dir / RUN_ARGS)


def _duologue_environment() -> dict[str, str]:
    return {key: value for key, value in sorted(os.environ.items()) if key.startswith(("DUOLOGUE_", "EVAL_DATA_ROOT"))}
