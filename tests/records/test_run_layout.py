"""The names of a run directory are written down once, and they are those of the contract."""

import ast
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from duologue.records import run_layout
from duologue.records.action import Side

ENGINE = Path(__file__).parents[2] / "duologue"
NAMES = {value for name, value in vars(run_layout).items() if name.isupper() and isinstance(value, str)}
SIDED = {
    name(side)
    for name in (run_layout.bot_log, run_layout.side_logs, run_layout.side_prompt, run_layout.side_tools)
    for side in Side
}
PIECES = {name.removeprefix(side.value).removesuffix(side.value) for name in SIDED for side in Side if side in name}


def texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield every string of a module but its docstrings."""
    documented = [
        node.value for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    ]
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in documented:
            yield node.lineno, node.value


def named(text: str) -> list[str]:
    """Return the names that are written down in ``text``: files as words, folders as parts of a path."""
    parts = re.split(r"[/\\]", text)
    words = re.findall(r"[\w.]+", text)
    return [name for name in NAMES | SIDED | PIECES if name in parts or ("." in name and name in words)]


def found(source: str) -> list[tuple[int, str]]:
    return [(line, name) for line, text in texts(ast.parse(source)) for name in named(text)]


def test_no_other_module_of_the_engine_writes_a_name_down() -> None:
    assert len(NAMES) > 20
    places = {
        f"{path.relative_to(ENGINE)}:{line}: {name}"
        for path in sorted(ENGINE.rglob("*.py"))
        if path.name != "run_layout.py"
        for line, name in found(path.read_text(encoding="utf-8"))
    }
    assert places == set()


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ('folder / "trace.jsonl"', ["trace.jsonl"]),
        ('f"{run}/conversation_log.wav: missing"', ["conversation_log.wav"]),
        ('run / "bot_logs"', ["bot_logs"]),
        ('f"bot_logs_{side}"', ["bot_logs_"]),
        ('f"{side}_prompt.txt"', ["_prompt.txt"]),
        ('def f():\n    """Write trace.jsonl."""', []),
        ('"no trace in bot_logs of it"', []),
        ('"other_metrics.json"', []),
    ],
)
def test_names_are_found_where_they_are_written_down(source: str, names: list[str]) -> None:
    assert [name for _, name in found(source)] == names


def test_names_of_sides_times_trials_and_judges() -> None:
    started = datetime(2025, 2, 25, 12, 8, 1, tzinfo=UTC)
    assert [run_layout.run_name(started, number) for number in (1, 2)] == [
        "eval_20250225_120801",
        "eval_20250225_120801_2",
    ]
    assert [run_layout.trial_folder("shop__1", trial) for trial in (1, 3)] == ["shop__1", "shop__1__trial_3"]
    assert run_layout.judge_replies("small-1a2b") == "judge_result.small-1a2b.json"
    assert run_layout.side_logs(Side.AGENT) == "bot_logs_agent"
