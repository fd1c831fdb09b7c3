"""Tools: pure functions on one side's state, with a name, a schema and a kind.

A domain declares its tools with the decorators at the end of this module::

    @write_tool("garage", Side.USER, "Open or close the door.")
    def move_door(state: SideState) -> ToolResult: ...

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

from duologue.errors import RegistryError, ToolError
from duologue.records.action import Side
from duologue.registry import DEFAULT_DOMAIN, Registry
from duologue.state.side_state import SideState
from duologue.toolkit.arguments import bind_arguments, check_schema, check_values
from duologue.toolkit.results import ToolOutcome, ToolResult, error_value

__all__ = [
    "END_CALL_TOOL",
    "FACTORY_KEY",
    "TOOLS",
    "TOOL_FACTORIES",
    "Tool",
    "ToolBody",
    "ToolFactory",
    "ToolKind",
    "generic_tool",
    "read_tool",
    "side_tools",
    "write_tool",
]

ToolBody = Callable[..., ToolResult]

TOOL_CRASHED = "tool_crashed"
"""The ``error_type`` of a call that met a bug of the tool."""

MAX_ERROR_CHARS = 2000
"""How much of an exception's text a model and a trace are shown."""


class ToolKind(StrEnum):
    """READ never changes state; WRITE may, and is recorded; GENERIC is recorded without a database."""

    READ = "read"
    WRITE = "write"
    GENERIC = "generic"


@dataclass(frozen=True, slots=True)
class Tool:
    """One callable of a domain's surface.

    ``properties`` and ``required`` are the JSON schema of the arguments. ``exit_text`` is not empty for a
    tool that ends the call after its result was delivered. The body of an ``is_lenient`` tool answers values
    that its schema does not allow itself; of all others it sees only values that fit.
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
    is_lenient: bool = False

    @property
    def needs_db(self) -> bool:
        """Whether the tool works on a database."""
        return self.kind is not ToolKind.GENERIC

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments object."""
        return {"type": "object", "properties": dict(self.properties), "required": list(self.required)}

    def invoke(self, state: SideState, arguments: Mapping[str, Any]) -> ToolOutcome:
        """Run the tool on ``state``, changing it in place; whatever goes wrong becomes an answer for the model.

        A call that is refused, that does not fit the schema or that crashes leaves ``state`` as it was and is not
        recorded; so does a tool that says it only looks and changes something all the same, which is a crash.

        Args:
            state: the side's state; ``state.db`` may be None only for GENERIC tools.
            arguments: keyword arguments, as the model gave them.
        """
        if self.needs_db and not state.db:
            message = f"{self.name}: the database of this side is not initialized"
            return ToolOutcome(error_value("db_not_initialized", message), error_type="db_not_initialized")
        before = state.copy()
        try:
            bind_arguments(self.name, self.body, self.properties, arguments)
            if not self.is_lenient:
                check_values(self.name, self.body, self.properties, arguments)
            result = self.body(state, **copy.deepcopy(dict(arguments)))
            changed = (before.db, before.memory) != (state.db, state.memory)
            if changed and self.kind is not ToolKind.WRITE:
                raise AssertionError(f"a {self.kind} tool changed the state")
        except ToolError as error:
            state.db, state.memory = before.db, before.memory
            return ToolOutcome(error_value(error.error_type, str(error)), error_type=error.error_type)
        except Exception as error:  # noqa: BLE001 - a bug of a domain must not end a call; it is reported in ``crash``
            state.db, state.memory = before.db, before.memory
            message = f"tool {self.name} crashed: {type(error).__name__}: {error}"[:MAX_ERROR_CHARS]
            return ToolOutcome(error_value(TOOL_CRASHED, message), error_type=TOOL_CRASHED, crash=message)
        is_recorded = self.kind is ToolKind.GENERIC or (self.kind is ToolKind.WRITE and (result.changed or changed))
        return ToolOutcome(result.value, result.out, is_recorded=is_recorded)


TOOLS: Registry[Tool] = Registry("tool")


def _declare(
    kind: ToolKind,
    domain: str,
    side: Side | None,
    description: str,
    parameters: dict[str, Any] | None,
    *,
    exit_text: str = "",
    lenient: bool = False,
) -> Callable[[ToolBody], ToolBody]:
    def register(body: ToolBody) -> ToolBody:
        properties = parameters or {}
        signature = inspect.signature(body).parameters
        required = tuple(name for name in properties if signature[name].default is inspect.Parameter.empty)
        tool = Tool(
            body.__name__, domain, side, kind, description, body, properties, required, exit_text, is_lenient=lenient
        )
        check_schema(tool.name, tool.schema)
        TOOLS.register(domain, tool.name, tool, owner=body.__module__)
        return body

    return register


def read_tool(
    domain: str, side: Side, description: str, parameters: dict[str, Any] | None = None, *, lenient: bool = False
) -> Callable[[ToolBody], ToolBody]:
    """Register a tool that only looks. ``parameters`` maps argument names to JSON schemas, which the arguments have to
    fit unless the tool is ``lenient``.
    """
    return _declare(ToolKind.READ, domain, side, description, parameters, lenient=lenient)


def write_tool(
    domain: str, side: Side, description: str, parameters: dict[str, Any] | None = None, *, lenient: bool = False
) -> Callable[[ToolBody], ToolBody]:
    """Register a tool that may change its side's state; every change is recorded and pushed to the bridge."""
    return _declare(ToolKind.WRITE, domain, side, description, parameters, lenient=lenient)


def generic_tool(
    domain: str, side: Side | None, description: str, parameters: dict[str, Any] | None = None, exit_text: str = ""
) -> Callable[[ToolBody], ToolBody]:
    """Register a tool without a database: recorded, and ending the call when ``exit_text`` is given."""
    return _declare(ToolKind.GENERIC, domain, side, description, parameters, exit_text=exit_text)


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
