"""Breaking the guards of the invariants on purpose, one line at a time, to see that a test notices.

``mutations.yaml`` lists the mutations: a text of a file, what takes its place, and the tests that must fail then. Each
is made in a copy of the checkout, never in the checkout itself.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from duologue.clock import SystemClock
from duologue.strict_yaml import load_yaml

ROOT = Path(__file__).parents[2]
LIST = Path(__file__).with_name("mutations.yaml")

TIMEOUT_S = 60.0
"""The slowest listed test takes 4 s on two busy cores."""

_TESTS_FAILED = 1
"""The exit status of pytest when tests ran and failed; a broken import or an unknown test has another one."""

_NOT_COPIED = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "eval_results", "build", "dist")


class Fate(StrEnum):
    """What became of a mutation. Only ``KILLED`` is good."""

    KILLED = "killed"
    ALIVE = "ALIVE"
    STALE = "stale"
    BROKEN = "broken"
    TIMEOUT = "timeout"


@dataclass(frozen=True, slots=True)
class Mutation:
    """One change: ``old``, which stands in ``file`` exactly once, becomes ``new``; ``tests`` are pytest node ids."""

    id: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Trial:
    """A mutation and its fate; ``detail`` explains any but ``KILLED``."""

    mutation: Mutation
    fate: Fate
    seconds: float
    detail: str = ""


def load_mutations(path: Path = LIST) -> list[Mutation]:
    """Return the list, in order.

    Raises:
        ValueError: an entry lacks something, changes nothing, or has the id of another.
    """
    mutations = []
    for entry in load_yaml(path.read_text(encoding="utf-8")):
        mutation = Mutation(**{**entry, "tests": tuple(entry["tests"])})
        if mutation.old == mutation.new or not mutation.tests:
            raise ValueError(f"{path}: {mutation.id} changes nothing or names no test")
        mutations.append(mutation)
    if len({mutation.id for mutation in mutations}) != len(mutations):
        raise ValueError(f"{path}: an id stands twice")
    return mutations


def staleness(mutation: Mutation, root: Path) -> str:
    """Return why a mutation does not fit the checkout in ``root``, or an empty text."""
    file = root / mutation.file
    if not file.is_file():
        return f"there is no {mutation.file}"
    if (count := file.read_text(encoding="utf-8").count(mutation.old)) != 1:
        return f"the old text stands {count} times in {mutation.file}"
    for node in mutation.tests:
        path, _, name = node.partition("::")
        function = name.partition("[")[0]
        if not (root / path).is_file() or f"def {function}(" not in (root / path).read_text(encoding="utf-8"):
            return f"there is no test {node}"
    return ""


@contextlib.contextmanager
def copied(root: Path) -> Iterator[Path]:
    """Give a copy of the checkout that is removed at the end."""
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = Path(folder) / "checkout"
        shutil.copytree(root, copy, ignore=_NOT_COPIED, symlinks=True)
        yield copy


def try_out(mutation: Mutation, copy: Path, timeout_s: float = TIMEOUT_S) -> Trial:
    """Make a mutation in ``copy``, run its tests there, and put the file back."""
    if problem := staleness(mutation, copy):
        return Trial(mutation, Fate.STALE, 0.0, problem)
    file = copy / mutation.file
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace(mutation.old, mutation.new), encoding="utf-8")
    started = SystemClock().monotonic()
    try:
        fate, detail = _run_tests(mutation.tests, copy, timeout_s)
    finally:
        file.write_text(text, encoding="utf-8")
    return Trial(mutation, fate, SystemClock().monotonic() - started, detail)


def _run_tests(tests: Sequence[str], copy: Path, timeout_s: float) -> tuple[Fate, str]:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    # Byte code of the same second and size would be taken for that of the file before the change.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, text=True, timeout=timeout_s, check=False
        )
    except subprocess.TimeoutExpired:
        return Fate.TIMEOUT, f"its tests took longer than {timeout_s:g} s"
    if done.returncode == 0:
        return Fate.ALIVE, f"passed: {', '.join(tests)}"
    if done.returncode == _TESTS_FAILED:
        return Fate.KILLED, ""
    return Fate.BROKEN, f"pytest ended with {done.returncode}: {(done.stdout + done.stderr).strip()[-400:]}"


def chosen(mutations: Sequence[Mutation], only: Sequence[str], sample: int | None, seed: str) -> list[Mutation]:
    """Return the mutations named in ``only`` (all when empty), or ``sample`` of them drawn by ``seed``, in order.

    Raises:
        ValueError: an id is unknown.
    """
    if unknown := set(only) - {mutation.id for mutation in mutations}:
        raise ValueError(f"no mutation has the id {', '.join(sorted(unknown))}")
    named = [mutation for mutation in mutations if not only or mutation.id in only]
    if sample is None or sample >= len(named):
        return named
    drawn = random.Random(seed).sample(range(len(named)), sample)
    return [named[index] for index in sorted(drawn)]


def main(argv: Sequence[str] | None = None, *, root: Path = ROOT, listed: Path = LIST) -> int:
    """Try mutations, print a table, and return 0 when every one was killed."""
    parser = argparse.ArgumentParser(prog="make mutants", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sample", type=int, metavar="N", help="try N of them")
    parser.add_argument("--seed", default="0", help="which ones --sample draws (default 0)")
    parser.add_argument("--only", nargs="+", default=[], metavar="ID", help="try these")
    options = parser.parse_args(argv)
    try:
        mutations = chosen(load_mutations(listed), options.only, options.sample, options.seed)
    except ValueError as error:
        parser.error(str(error))
    width = max((len(mutation.id) for mutation in mutations), default=0)
    trials = []
    with copied(root) as copy:
        for mutation in mutations:
            trial = try_out(mutation, copy)
            trials.append(trial)
            print(f"{trial.fate:8}{mutation.id:{width}}  {trial.seconds:4.1f} s  {mutation.file}", flush=True)
            if trial.detail:
                print(f"        {trial.detail}", flush=True)
    killed = sum(trial.fate is Fate.KILLED for trial in trials)
    print(f"{killed} of {len(trials)} killed")
    return 0 if killed == len(trials) else 1


if __name__ == "__main__":
    sys.exit(main())
