"""Running a scenario's initialization actions on one side, atomically."""

from __future__ import annotations

import copy
import inspect
import logging
from collections.abc import Mapping, Sequence

from duologue.errors import DuologueError, InitializationFailed, RegistryError, ToolError
from duologue.records.action import InitAction
from duologue.state.initialize import describe, merge_shared_state
from duologue.state.side_state import SideState
from duologue.toolkit.rules import INIT_FUNCTIONS

__all__ = ["run_init_function"]

logger = logging.getLogger(__name__)


def run_init_function(state: SideState, func_name: str, arguments: Mapping[str, object]) -> object:
    """Run one initialization function on ``state`` in place and return its structured outcome.

    Raises:
        RegistryError: the domain has no such function.
        ToolError: the function refused or the arguments do not fit. State may have changed.
    """
    function = INIT_FUNCTIONS.get(state.domain, func_name)
    try:
        inspect.signature(function).bind(state, **arguments)
    except TypeError as error:
        raise ToolError(f"{func_name}: {error}") from error
    return function(state, **copy.deepcopy(arguments))


def initialize(state: SideState, shared: dict[str, object], actions: Sequence[InitAction]) -> None:
    """Merge ``shared`` into ``state`` and run ``actions`` in order; on any failure nothing changes.

    Raises:
        InitializationFailed: with every failure text of the contract, one a line.
    """
    trial = state.copy()
    try:
        merge_shared_state(trial, shared)
    except DuologueError as error:
        raise InitializationFailed(describe(error)) from error
    if actions and trial.db is None:
        raise InitializationFailed("actions were given but there is no database (shared_state_init needs db_path)")
    errors = []
    for action in actions:
        try:
            run_init_function(trial, action.func_name, action.arguments)
        except (RegistryError, ToolError) as error:
            errors.append(f"{action.func_name}: {describe(error)}")
        except Exception as error:
            logger.debug("initialization function %s crashed", action.func_name, exc_info=True)
            errors.append(f"{action.func_name}: crashed ({type(error).__name__}: {error}); is its database whole?")
    if errors:
        raise InitializationFailed("\n".join(errors))
    state.db, state.memory, state.profile = trial.db, trial.memory, trial.profile
