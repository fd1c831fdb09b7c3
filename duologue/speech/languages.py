"""Language codes as recognizers take them."""

from __future__ import annotations

ENGLISH = "en"


def base_language(tag: str) -> str:
    """Return the language of a tag without region or script: ``pt-BR`` is ``pt``; empty means English."""
    return tag.strip().lower().replace("_", "-").split("-", 1)[0] or ENGLISH
