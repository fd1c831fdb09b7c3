"""Names to objects: one registry class for every kind, and the loader of domains.

A domain lives in four places under a domain root: ``scenarios/<domain>/``, ``tools/<domain>/`` (with any folders of
its own beside the tools), ``sync/<domain>.py`` and ``data/<domain>/``. The checkout is the first root; the environment
variable ``DUOLOGUE_DOMAINS`` adds more, separated like ``PATH``. The engine never imports a domain by name:
:func:`load_domain` does it on request, and the modules register themselves on import.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import os
import pkgutil
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Generic, TypeVar

from duologue.errors import RegistryError

__all__ = ["Registry", "load_domain"]

T = TypeVar("T")

DEFAULT_DOMAIN = "default"
_PLACES = ("tools", "sync", "scenarios")
_DOMAIN_NAME = re.compile(r"[a-z][a-z0-9_]*")


class Registry(Generic[T]):
    """Objects of one kind, keyed by (domain, name).

    Args:
        kind: what is registered, for error messages (``"tool"``, ``"predicate"``…).
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._entries: dict[tuple[str, str], T] = {}
        self._owners: dict[tuple[str, str], str] = {}

    def register(self, domain: str, name: str, value: T, *, owner: str) -> None:
        """Add ``value``; ``owner`` is the module it comes from.

        Raises:
            RegistryError: the key is taken; both owners are named.
        """
        key = (domain, name)
        if key in self._entries:
            raise RegistryError(
                f"{self.kind} {name!r} of domain {domain!r} is registered twice: by {self._owners[key]} and by {owner}"
            )
        self._entries[key] = value
        self._owners[key] = owner

    def get(self, domain: str, name: str, *, fall_back: bool = False) -> T:
        """Return the object; with ``fall_back`` the ``default`` domain is asked second.

        Raises:
            RegistryError: the name is unknown; near names are listed.
        """
        for key in [(domain, name), *([(DEFAULT_DOMAIN, name)] if fall_back else [])]:
            if key in self._entries:
                return self._entries[key]
        known = self.names(domain)
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
        hint = f"; did you mean {', '.join(near)}?" if near else f"; known: {', '.join(known) or 'none'}"
        raise RegistryError(f"domain {domain!r} has no {self.kind} {name!r}{hint}")

    def find(self, domain: str, name: str) -> T | None:
        """Return the object, or None when the key is unknown."""
        return self._entries.get((domain, name))

    def names(self, domain: str) -> list[str]:
        """Return the names of one domain, in registration order."""
        return [name for owner, name in self._entries if owner == domain]

    def items(self, domain: str) -> Iterator[tuple[str, T]]:
        """Iterate over (name, object) of one domain, in registration order."""
        return ((name, value) for (owner, name), value in self._entries.items() if owner == domain)


def domain_roots() -> list[Path]:
    """Return the folders that may hold domains: the checkout first, then ``DUOLOGUE_DOMAINS``."""
    scenarios = importlib.import_module("scenarios")
    checkout = Path(next(iter(scenarios.__path__))).resolve().parent
    extra = [Path(part).resolve() for part in os.environ.get("DUOLOGUE_DOMAINS", "").split(os.pathsep) if part]
    roots = [checkout, *extra]
    for place in _PLACES:
        package = importlib.import_module(place)
        for root in extra:
            path = str(root / place)
            if path not in package.__path__:
                package.__path__.append(path)
    return roots


def available_domains() -> list[str]:
    """Return the names of all domains found under the domain roots, sorted."""
    domain_roots()
    scenarios = importlib.import_module("scenarios")
    return sorted(module.name for module in pkgutil.iter_modules(scenarios.__path__) if module.ispkg)


LoadCheck = Callable[[str], None]
"""Raises RegistryError when what a loaded domain registered does not fit together."""

_LOAD_CHECKS: list[LoadCheck] = []


def on_load(check: LoadCheck) -> LoadCheck:
    """Have ``check`` look at every domain after it was loaded."""
    _LOAD_CHECKS.append(check)
    return check


def load_domain(name: str) -> None:
    """Import a domain's modules, so that its tools, predicates, rules and scenarios are registered.

    Loading twice is harmless.

    Raises:
        RegistryError: there is no such domain under the domain roots, or what it registers does not fit together.
    """
    known = available_domains()
    if not _DOMAIN_NAME.fullmatch(name) or name not in known:
        raise RegistryError(f"unknown domain {name!r}; known: {', '.join(known) or 'none'}")
    for place in _PLACES:
        module = f"{place}.{name}"
        if module in sys.modules:
            continue
        if importlib.util.find_spec(module) is not None:
            importlib.import_module(module)
    for check in _LOAD_CHECKS:
        check(name)
