"""Every number with a name says why it has its value: a comment on its line or above, or the text below it."""

import ast
from collections.abc import Iterator
from pathlib import Path

ENGINE = Path(__file__).parents[1] / "duologue"


def is_number(node: ast.expr | None) -> bool:
    """Whether an expression is made of literal numbers only."""
    if isinstance(node, ast.BinOp):
        return is_number(node.left) and is_number(node.right)
    if isinstance(node, ast.UnaryOp):
        return is_number(node.operand)
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def named_numbers(tree: ast.Module) -> Iterator[tuple[int, ast.Assign | ast.AnnAssign]]:
    for at, node in enumerate(tree.body):
        if isinstance(node, ast.Assign | ast.AnnAssign) and is_number(node.value):
            yield at, node


def is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def unexplained(path: Path) -> Iterator[str]:
    text = path.read_text(encoding="utf-8")
    lines, tree = text.splitlines(), ast.parse(text)
    for at, node in named_numbers(tree):
        has_text = at + 1 < len(tree.body) and is_text(tree.body[at + 1])
        is_commented = "# " in lines[node.lineno - 1] or lines[node.lineno - 2].startswith("# ")
        if not has_text and not is_commented:
            yield f"{path.relative_to(ENGINE)}:{node.lineno}: {lines[node.lineno - 1]}"


def test_every_named_number_has_a_reason() -> None:
    assert [told for path in sorted(ENGINE.rglob("*.py")) for told in unexplained(path)] == []
