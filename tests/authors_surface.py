"""What authors of domains may build on, read off the modules; ``python -m tests.authors_surface --store`` keeps it.

One line for each name of each ``__all__`` and, for a class, one for each public member. Arguments are written as
they are called: ``name`` is needed, ``name=`` is not, and what follows a star is given by name only.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from types import ModuleType

from pydantic import BaseModel

import duologue

STORED = Path(__file__).parent / "data" / "authors_surface.txt"
ROOMS = ("duologue.records.", "duologue.state.", "duologue.toolkit.")
STARS = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}
SINGLE = ("duologue.errors", "duologue.registry")


def public_modules() -> dict[str, ModuleType]:
    """Return the modules that authors may import from: those that declare ``__all__``."""
    names = [name for _, name, _ in pkgutil.walk_packages(duologue.__path__, "duologue.") if name.startswith(ROOMS)]
    modules = {name: importlib.import_module(name) for name in sorted([*SINGLE, *names])}
    return {name: module for name, module in modules.items() if hasattr(module, "__all__")}


def called(function: object) -> str:
    """Return how something is called: ``(one, two=, *, three)``."""
    if not callable(function):
        raise TypeError(f"{function!r} is not called")
    parts, is_by_name = [], False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in {"self", "cls"}:
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not is_by_name:
            parts.append("*")
            is_by_name = True
        star = STARS.get(parameter.kind.name, "")
        is_by_name = is_by_name or star == "*"
        parts.append(f"{star}{parameter.name}{'' if star or parameter.default is parameter.empty else '='}")
    return f"({', '.join(parts)})"


def ours(kind: type) -> list[type]:
    """Return the classes of ours that a class is made of, the most general first."""
    return [base for base in reversed(kind.__mro__) if base.__module__.startswith("duologue")]


def has_arguments(kind: type) -> bool:
    """Whether a class declares how it is made; a model's fields say that themselves, and a protocol is never made."""
    if issubclass(kind, BaseModel | Enum) or getattr(kind, "_is_protocol", False):
        return False
    return any("__init__" in vars(base) for base in ours(kind))


def members(kind: type) -> Iterator[str]:
    """Give a class's public members, its own and those that it has from other classes of ours."""
    if issubclass(kind, Enum):
        yield from (f"{member.name} = {member.value!r}" for member in kind)
        return
    found: dict[str, str] = {}
    for base in ours(kind):
        if issubclass(base, BaseModel):
            fields = base.model_fields
            found.update((name, f"{name}{'' if field.is_required() else '='}") for name, field in fields.items())
        found.update((name, name) for name in inspect.get_annotations(base) if name not in found)
        for name, value in vars(base).items():
            value = value.__func__ if isinstance(value, classmethod | staticmethod) else value
            found.setdefault(name, name)
            if inspect.isfunction(value):
                found[name] = f"{name}{called(value)}"
    yield from (told for name, told in sorted(found.items()) if not name.startswith(("_", "model_")))


def surface() -> list[str]:
    """Return the lines, sorted by module and name."""
    lines = []
    for module_name, module in public_modules().items():
        for name in sorted(module.__all__):
            value, path = getattr(module, name), f"{module_name}.{name}"
            if inspect.isclass(value):
                lines.append(f"{path}{called(value)}" if has_arguments(value) else path)
                lines += [f"{path}.{told}" for told in members(value)]
            else:
                lines.append(f"{path}{called(value)}" if inspect.isfunction(value) else path)
    return lines


def main() -> None:
    """Print the surface, or store it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", action="store_true", help="write it to tests/data/authors_surface.txt")
    text = "\n".join(surface()) + "\n"
    if parser.parse_args().store:
        STORED.write_text(text, encoding="utf-8")
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
