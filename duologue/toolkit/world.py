"""World events: a domain's databases change at a media time without a tool, by a pure function.

A domain registers one function for each kind::

    @world_event("garage")
    def door_jammed(state: SideState, side: Side, data: Mapping[str, Any]) -> None: ...

The function is called for each side that has a database, on the bridge's shadow, on whoever hosts the side, and in gold
replay. It changes ``state.db`` and ``state.memory`` in place, and refuses with ToolError.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from duologue.errors import DuologueError, ToolError
from duologue.records.action import Side
from duologue.records.event import DomainEvent
from duologue.records.scenario import WorldEvent
from duologue.registry import Registry
from duologue.state.side_state import SideState

__all__ = ["WorldFunction", "world_event"]

WorldFunction = Callable[[SideState, Side, Mapping[str, Any]], None]

WORLD_EVENTS: Registry[WorldFunction] = Registry("world event")


def world_event(domain: str) -> Callable[[WorldFunction], WorldFunction]:
    """Register what an event does to one side, under the function's name.

    Raises:
        RegistryError: the name is taken.
    """

    def register(function: WorldFunction) -> WorldFunction:
        WORLD_EVENTS.register(domain, function.__name__, function, owner=function.__module__)
        return function

    return register


def apply_world_event(state: SideState, side: Side, kind: str, data: Mapping[str, Any]) -> None:
    """Let an event happen on one side; on any failure its state is as before.

    Raises:
        RegistryError: the domain knows no such event.
        ToolError: its function refused or crashed.
    """
    function = WORLD_EVENTS.get(state.domain, kind)
    before = state.copy()
    try:
        function(state, side, dict(data))
    except Exception as error:
        state.db, state.memory = before.db, before.memory
        if isinstance(error, DuologueError):
            raise
        raise ToolError(f"world event {kind} crashed: {type(error).__name__}: {error}") from error


def occurred(planned: Sequence[WorldEvent], seen: Sequence[DomainEvent]) -> tuple[WorldEvent, ...]:
    """Return the events of a call as they belong into the reference solution: the planned ones of them in their place,
    others after all of it.
    """
    left = list(planned)
    found = []
    for event in seen:
        match = next((item for item in left if (item.kind, item.data) == (event.kind, event.data)), None)
        if match is not None:
            left.remove(match)
        found.append(match or WorldEvent(at_ms=event.t_ms, kind=event.kind, data=event.data))
    return tuple(found)
