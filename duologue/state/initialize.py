"""Putting one side into a scenario's initial state: all of it, or none."""

from __future__ import annotations

import copy

from duologue.errors import DuologueError, InitializationFailed
from duologue.state.fixtures import load_db
from duologue.state.side_state import SideState


def merge_shared_state(state: SideState, shared: dict[str, object]) -> None:
    """Merge ``shared_state_init`` into ``state``: ``db_path`` loads a database unless ``db`` is given.

    Known keys are ``db``, ``db_path``, ``memory`` and ``profile``.

    Raises:
        InitializationFailed: an unknown key, or a value of the wrong kind.
        FixtureError: the database cannot be loaded.
    """
    unknown = set(shared) - {"db", "db_path", "memory", "profile"}
    if unknown:
        raise InitializationFailed(f"unknown shared_state_init keys: {', '.join(sorted(unknown))}")
    if "profile" in shared:
        state.profile = str(shared["profile"])
    if "db" in shared:
        if not isinstance(shared["db"], dict):
            raise InitializationFailed("shared_state_init.db must be an object")
        state.db = copy.deepcopy(shared["db"])
    elif "db_path" in shared and state.db is None:
        if not isinstance(shared["db_path"], str):
            raise InitializationFailed("shared_state_init.db_path must be a string")
        state.db = load_db(shared["db_path"])
    if "memory" in shared:
        if not isinstance(shared["memory"], dict):
            raise InitializationFailed("shared_state_init.memory must be an object")
        state.memory = copy.deepcopy(shared["memory"])


def describe(error: DuologueError | TypeError) -> str:
    """Return ``<Class>: <text>`` of an error, as the wire contract words failures."""
    return f"{type(error).__name__}: {error}"
