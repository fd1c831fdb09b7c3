"""The import rules, and the rules on who may read time, print, exit and open sockets."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ENGINE = ROOT / "duologue"
CLOCKS = {"time", "monotonic", "perf_counter", "monotonic_ns", "time_ns", "perf_counter_ns", "sleep"}


@cache
def modules() -> tuple[tuple[str, ast.Module], ...]:
    """Parsed once; every rule reads the same trees."""
    return tuple(
        (path.relative_to(ROOT).as_posix(), ast.parse(path.read_text(encoding="utf-8")))
        for path in sorted(ENGINE.rglob("*.py"))
    )


@cache
def calls(tree: ast.Module) -> tuple[str, ...]:
    return tuple(ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call))


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def test_layers_hold() -> None:
    command = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([command, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_only_the_clocks_read_time() -> None:
    readers = {
        path
        for path, tree in modules()
        for name in calls(tree)
        if (name.startswith("time.") and name.removeprefix("time.") in CLOCKS)
        or name in {"datetime.now", "datetime.datetime.now", "datetime.utcnow", "date.today"}
    }
    assert readers <= {"duologue/clock.py", "duologue/bots/media_clock.py"}


@pytest.mark.slow
def test_what_runs_calls_loads_no_bots_and_leaves_time_alone() -> None:
    """Importing ``duologue.bots`` makes the module ``time`` answer with session time inside a session."""
    code = (
        "import sys, time\n"
        "clocks = [time.time, time.monotonic, time.perf_counter]\n"
        "import duologue.brains.brain, duologue.cli.evaluate, duologue.cli.text, duologue.runner.conduct\n"
        "assert clocks == [time.time, time.monotonic, time.perf_counter]\n"
        "print([name for name in sys.modules if name.startswith(('duologue.bots', 'duologue.testing'))])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout == "[]\n", done.stderr


def test_only_sessions_sleep_on_the_loop() -> None:
    """In a bot's session the loop's time is media time; everybody else waits on a Clock."""
    sleepers = {path for path, tree in modules() for name in calls(tree) if name == "asyncio.sleep"}
    sessions = ("duologue/bots/", "duologue/testing/", "duologue/clock.py")
    assert {path for path in sleepers if not path.startswith(sessions)} == set()


def test_only_the_command_line_prints_and_exits() -> None:
    talkers = {
        path for path, tree in modules() for name in calls(tree) if name in {"print", "sys.exit", "exit", "quit"}
    }
    assert {path for path in talkers if not path.startswith(("duologue/cli/", "duologue/testing/"))} == set()


def test_only_the_connection_opens_client_sockets() -> None:
    openers = {
        path
        for path, tree in modules()
        for name in imported(tree)
        if name in {"websockets.asyncio.client", "websockets.client", "websockets.sync.client"}
    }
    assert {path for path in openers if not path.startswith("duologue/testing/")} <= {"duologue/bridge/connection.py"}


def test_received_text_is_never_evaluated() -> None:
    evaluators = {path for path, tree in modules() for name in calls(tree) if name in {"eval", "exec"}}
    assert evaluators == set()


def test_no_module_of_the_engine_names_a_suite_domain() -> None:
    """What such a domain needs is a capability that any domain can declare."""
    places = [ENGINE, *(ROOT / name for name in ("sync", "benchmarks", "examples", "server_configs"))]
    files = [path for place in places for path in place.rglob("*") if path.suffix in {".py", ".yaml", ".js", ".html"}]
    files += ROOT.glob("*.py")
    assert len(files) > 200
    named = [path for path in files if re.search(r"voiceagentbench|\bvab\b", path.read_text("utf-8"), re.IGNORECASE)]
    assert named == []


def test_no_public_class_of_the_engine_has_the_name_of_another():
    owners: dict[str, list[str]] = {}
    for path in sorted(ENGINE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                owners.setdefault(node.name, []).append(path.relative_to(ENGINE).as_posix())
    assert {name: paths for name, paths in owners.items() if len(paths) > 1} == {}
