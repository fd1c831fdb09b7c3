"""What else a domain registers: predicates, initialization functions, sync rules, catalogues."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from duologue.errors import ToolError
from duologue.records.action import Delta, Side
from duologue.records.scenario import CatalogueOptions, Scenario
from duologue.registry import Registry
from duologue.state.side_state import SideState

__all__ = [
    "CATALOGUES",
    "INIT_FUNCTIONS",
    "PREDICATES",
    "RULES_NAME",
    "SUITE_LABEL",
    "SYNC_RULES",
    "Catalogue",
    "CatalogueFlag",
    "DeltaApplier",
    "Deltas",
    "InitFunction",
    "Predicate",
    "SyncFunction",
    "SyncRefused",
    "SyncRules",
    "ToolHome",
    "apply_dotted_delta",
    "init_function",
    "parse_delta_path",
    "predicate",
]

Predicate = Callable[..., bool]
"""``(db, **arguments) -> bool``; raises ToolError for what it cannot decide."""

InitFunction = Callable[..., Any]
"""``(state, **arguments) -> structured outcome or None``; raises ToolError."""

PREDICATES: Registry[Predicate] = Registry("predicate")
INIT_FUNCTIONS: Registry[InitFunction] = Registry("initialization function")


@dataclass(frozen=True, slots=True)
class Deltas:
    """What a sync changed, per side. Empty deltas mean that the sides agreed."""

    agent: Delta = field(default_factory=dict)
    user: Delta = field(default_factory=dict)

    def side(self, side: Side) -> Delta:
        """Return one side's delta."""
        return self.agent if side is Side.AGENT else self.user

    def __bool__(self) -> bool:
        return bool(self.agent or self.user)


class SyncRefused(ToolError):
    """The two databases do not fit together; ``deltas`` is what the sync changed before it stopped."""

    def __init__(self, message: str, deltas: Deltas) -> None:
        super().__init__(message)
        self.deltas = deltas


SyncFunction = Callable[[SideState, SideState], Deltas]
"""``(agent, user) -> deltas``; changes both states in place through the same applier that bots use. Idempotent.

Raises SyncRefused in profiles where databases that do not fit are an error.
"""

DeltaApplier = Callable[[SideState, Delta], None]
"""Applies a delta to one side's state, all or nothing; raises ToolError when it does not fit."""


@dataclass(frozen=True, slots=True)
class SyncRules:
    """A dual-side domain's sync function and the applier its bots use.

    ``stepwise_profiles`` are the profiles in which initialization runs both sides' actions in listed order with a
    sync after each; otherwise each side is initialized by itself and one sync follows.
    """

    sync: SyncFunction
    apply: DeltaApplier
    stepwise_profiles: frozenset[str] = frozenset()


SYNC_RULES: Registry[SyncRules] = Registry("sync rules")


@dataclass(frozen=True, slots=True)
class CatalogueFlag:
    """A command line flag that only this domain has; its value arrives in ``CatalogueOptions.extra``.

    Args:
        name: without the dashes in front.
        help: one line for ``--help``.
        choices: the values that it takes; empty for any text.
        default: the value without the flag; empty for none.
        metavar: what stands for the value in ``--help``.
    """

    name: str
    help: str
    choices: tuple[str, ...] = ()
    default: str = ""
    metavar: str = "VALUE"


class ToolHome(StrEnum):
    """Who runs a side's tools: the bot that holds the side, or the harness, to which the bot forwards its calls."""

    BOT = "bot"
    HARNESS = "harness"


@dataclass(frozen=True, slots=True)
class Catalogue:
    """How a domain lists its scenarios.

    ``profiles[0]`` is the default, the others are chosen with ``--compat``; ``suites``: the values of the label
    ``suite``, in order, for domains that have them. ``tool_homes``: who runs each side's tools; its bot, unless named.
    """

    load: Callable[[CatalogueOptions], Sequence[Scenario]]
    prefixes: tuple[str, ...]
    splits: tuple[str, ...] = ("base",)
    profiles: tuple[str, ...] = ("default",)
    flags: tuple[CatalogueFlag, ...] = ()
    suites: tuple[str, ...] = ()
    tool_homes: Mapping[Side, ToolHome] = field(default_factory=dict)


SUITE_LABEL = "suite"
"""The label that names a scenario's suite."""

CATALOGUES: Registry[Catalogue] = Registry("catalogue")

RULES_NAME = "rules"
"""The one name under which a domain registers its sync rules and its catalogue."""


def tool_home(domain: str, side: Side) -> ToolHome:
    """Return who runs the tools of ``side`` in a domain's scenarios."""
    catalogue = CATALOGUES.find(domain, RULES_NAME)
    return ToolHome.BOT if catalogue is None else catalogue.tool_homes.get(side, ToolHome.BOT)


def predicate(domain: str) -> Callable[[Predicate], Predicate]:
    """Register a predicate under its function name."""

    def register(function: Predicate) -> Predicate:
        PREDICATES.register(domain, function.__name__, function, owner=function.__module__)
        return function

    return register


def init_function(domain: str) -> Callable[[InitFunction], InitFunction]:
    """Register an initialization function under its function name."""

    def register(function: InitFunction) -> InitFunction:
        INIT_FUNCTIONS.register(domain, function.__name__, function, owner=function.__module__)
        return function

    return register


_SEGMENT = re.compile(r"([A-Za-z0-9_]+)(?:\[(.+?)\])?(?:\.(?=.)|$)", re.DOTALL)


def apply_dotted_delta(state: SideState, delta: Delta) -> None:
    """Set each dotted path of ``delta`` in ``state.db``; the default applier. All or nothing.

    Raises:
        ToolError: there is no database, or a path does not exist.
    """
    if state.db is None:
        raise ToolError("no database to apply a delta to")
    targets = []
    for path, value in delta.items():
        *parents, leaf = path.split(".")
        node: Any = state.db
        for part in parents:
            if not isinstance(node, dict) or part not in node:
                raise ToolError(f"delta path {path!r}: no {part!r}")
            node = node[part]
        if not isinstance(node, dict) or leaf not in node:
            raise ToolError(f"delta path {path!r}: no {leaf!r}")
        targets.append((node, leaf, value))
    for node, leaf, value in targets:
        node[leaf] = value


def parse_delta_path(path: str) -> list[tuple[str, str | None]]:
    """Split ``bills[B1].status`` into ``[("bills", "B1"), ("status", None)]``. An id may hold dots and brackets.

    Raises:
        ToolError: the path is malformed.
    """
    parts: list[tuple[str, str | None]] = []
    at = 0
    while at < len(path) or not parts:
        match = _SEGMENT.match(path, at)
        if match is None:
            raise ToolError(f"malformed delta path {path!r} at {path[at:]!r}")
        parts.append((match.group(1), match.group(2)))
        at = match.end()
    return parts
