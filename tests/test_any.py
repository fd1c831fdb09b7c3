"""The engine says what its values are: ``Any``, which switches the type checker off, is rare and stays so."""

import re
from pathlib import Path

ENGINE = Path(__file__).parents[1] / "duologue"
MOST_PER_KLOC = 12.0
"""Half of what the engine had when its wire bodies travelled as untyped dicts; most of the rest is Pipecat's."""


def test_any_is_rare() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(ENGINE.rglob("*.py"))}
    counts = {path: len(re.findall(r"\bAny\b", text)) for path, text in texts.items()}
    lines = sum(text.count("\n") for text in texts.values())
    per_kloc = 1000 * sum(counts.values()) / lines
    densest = sorted(counts, key=lambda path: -counts[path])[:5]
    told = ", ".join(f"{path.relative_to(ENGINE)} {counts[path]}" for path in densest)
    assert per_kloc < MOST_PER_KLOC, (
        f"{per_kloc:.1f} Any per 1,000 lines ({sum(counts.values())} in {lines}); densest: {told}. "
        "Give the value a model, or object where it is only passed on and narrowed"
    )
