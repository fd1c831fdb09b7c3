"""Tools: pure functions on one side's state, with a name, a schema and a kind.

A domain declares its tools with the decorators at the end of this module::

    @write_tool("tau2_telecom", Side.USER, "Flip airplane mode.")
    def toggle_airplane_mode(state: SideState) -> ToolResult: ...

The function's name is the registry key, the name the model sees, the ``name`` of the recorded action
and the key of gold replay. A body changes ``state.db`` and ``state.memory`` in place, refuses with
:class:`ToolRefusal` or :class:`InvalidArguments`, and does no I/O.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from duologue.errors import InvalidArguments, RegistryError, ToolError
from duologue.records.action import Side
from duologue.registry import DEFAULT_DOMAIN, Registry
from duologue.state.side_state import SideState
from duologue.toolkit.results import ToolOutcome, ToolResult, error_value

ToolBody = Callable[..., ToolResult]


class ToolKind(StrEnum):
    """READ never changes state; WRITE may, and is recorded; GENERIC is recorded without a database."""

    READ = "read"
    WRITE = "write"
    GENERIC = "generic"


@dataclass(frozen=True, slots=True)
class Tool:
    """One callable of a domain's surface.

    ``properties`` and ``required`` are the JSON schema of the arguments. ``exit_text`` is not empty for a
    tool that ends the call after its result was delivered.
    """

    name: str
    domain: str
    side: Side | None
    kind: ToolKind
    description: str
    body: ToolBody
    properties: dict[str, Any] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    exit_text: str = ""

    @property
    def needs_db(self) -> bool:
        """Whether the tool works on a database."""
        return self.kind is not ToolKind.GENERIC

    def invoke(self, state: SideState, arguments: Mapping[str, Any]) -> ToolOutcome:
        """Run the tool on ``state``, changing it in place. Never raises for what a model can cause.

        Args:
            state: the side's state; ``state.db`` may be None only for GENERIC tools.
            arguments: keyword arguments, as the model gave them.
        """
        if self.needs_db and not state.db:
            message = f"{self.name}: the database of this side is not initialized"
            return ToolOutcome(error_value("db_not_initialized", message), error_type="db_not_initialized")
        may_change = self.kind is ToolKind.WRITE
        before = copy.deepcopy((state.db, state.memory)) if may_change else None
        try:
            self._bind(state, arguments)
            result = self.body(state, **copy.deepcopy(dict(arguments)))
        except ToolError as error:
            # A refused write may have changed state all the same: then it is recorded, or shadows would drift.
            changed = before is not None and before != (state.db, state.memory)
            return ToolOutcome(error_value(error.error_type, str(error)), None, error.error_type, changed)
        recorded = self.kind is ToolKind.GENERIC or (
            may_change and (result.changed or before != (state.db, state.memory))
        )
        return ToolOutcome(result.value, result.out, is_recorded=recorded)

    def _bind(self, state: SideState, arguments: Mapping[str, Any]) -> None:
        try:
            inspect.signature(self.body).bind(state, **arguments)
        except TypeError as error:
            expected = ", ".join(self.properties) or "none"
            raise InvalidArguments(f"{self.name}: {error}; expected arguments: {expected}") from error


TOOLS: Registry[Tool] = Registry("tool")


def _declare(
    kind: ToolKind, domain: str, side: Side | None, description: str, parameters: dict[str, Any] | None, exit_text: str
) -> Callable[[ToolBody], ToolBody]:
    def register(body: ToolBody) -> ToolBody:
        properties = parameters or {}
        signature = inspect.signature(body).parameters
        required = tuple(name for name in properties if signature[name].default is inspect.Parameter.empty)
        tool = Tool(body.__name__, domain, side, kind, description, body, properties, required, exit_text)
        TOOLS.register(domain, tool.name, tool, owner=body.__module__)
        return body

    return register


def read_tool(
    domain: str, side: Side, description: str, parameters: dict[str, Any] | None = None
) -> Callable[[ToolBody], ToolBody]:
    """Register a tool that only looks. ``parameters`` maps argument names to JSON schemas."""
    return _declare(ToolKind.READ, domain, side, description, parameters, "")


def write_tool(
    domain: str, side: Side, description: str, parameters: dict[str, Any] | None = None
) -> Callable[[ToolBody], ToolBody]:
    """Register a tool that may change its side's state; every change is recorded and pushed to the bridge."""
    return _declare(ToolKind.WRITE, domain, side, description, parameters, "")


def generic_tool(
    domain: str, side: Side | None, description: str, parameters: dict[str, Any] | None = None, exit_text: str = ""
) -> Callable[[ToolBody], ToolBody]:
    """Register a tool without a database: recorded, and ending the call when ``exit_text`` is given."""
    return _declare(ToolKind.GENERIC, domain, side, description, parameters, exit_text)


END_CALL_TOOL = "EndConversationTool"
END_CALL_TEXT = "The task is finished."


def _end_call(state: SideState) -> ToolResult:
    return ToolResult({"success": True}, "Exit message sent.")


TOOLS.register(
    DEFAULT_DOMAIN,
    END_CALL_TOOL,
    Tool(
        END_CALL_TOOL,
        DEFAULT_DOMAIN,
        None,
        ToolKind.GENERIC,
        "Hang up. Call it once, when nothing else is needed and you have said goodbye.",
        _end_call,
        exit_text=END_CALL_TEXT,
    ),
    owner=__name__,
)


ToolFactory = Callable[[str, Mapping[str, Any]], Tool]
"""``(name, settings) -> tool``; raises ToolError when the settings do not make one."""

TOOL_FACTORIES: Registry[ToolFactory] = Registry("tool factory")

FACTORY_KEY = "factory"
"""The key of a tool's settings that names the factory which makes it."""


def find_tool(domain: str, name: str, settings: Mapping[str, Any] | None = None) -> Tool:
    """Return a tool of ``domain``, or of the default domain; settings with a ``factory`` have it made by that one.

    Raises:
        RegistryError: there is no such tool or factory, the settings do not make a tool, or a tool that stands in
            the registry is given settings.
    """
    if not settings:
        return TOOLS.get(domain, name, fall_back=True)
    factory = settings.get(FACTORY_KEY)
    if factory is None:
        raise RegistryError(f"tool {name} takes no settings, got {dict(settings)}")
    try:
        return TOOL_FACTORIES.get(domain, str(factory))(name, settings)
    except ToolError as error:
        raise RegistryError(f"tool {name} of factory {factory}: {error}") from error


def side_tools(domain: str, side: Side) -> dict[str, Tool]:
    """Return the tools that ``side`` may call in ``domain``, by name, in registration order."""
    return {name: tool for name, tool in TOOLS.items(domain) if tool.side is side}
