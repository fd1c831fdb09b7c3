"""What a person who takes a side sees of its database while the call runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from duologue.records.action import Side
from duologue.registry import Registry
from duologue.state.side_state import SideState

__all__ = ["SideView", "side_view"]

SideView = Callable[[SideState], Mapping[str, Mapping[str, Any]]]
"""``(state) -> {section: {label: value}}`` in plain words; values are JSON scalars, lists of them, or None."""

SIDE_VIEWS: Registry[SideView] = Registry("side view")
"""Keyed by domain and side. A user side without a view shows its whole database, an agent side nothing."""


def side_view(domain: str, side: Side) -> Callable[[SideView], SideView]:
    """Register a domain's view of one side."""

    def register(view: SideView) -> SideView:
        SIDE_VIEWS.register(domain, side.value, view, owner=view.__module__)
        return view

    return register


def visible_state(side: Side, state: SideState) -> dict[str, Any] | None:
    """Return what the person on ``side`` sees, or None for nothing."""
    if state.db is None:
        return None
    view = SIDE_VIEWS.find(state.domain, side.value)
    if view is not None:
        return {section: dict(entries) for section, entries in view(state).items()}
    return state.db if side is Side.USER else None
