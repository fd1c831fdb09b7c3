"""Tools: pure functions on one side's state, with a name, a schema and a kind.

A domain declares its tools with the decorators at the end of this module::

    @write_tool("garage", Side.USER, "Open or close the door.")
    def move_door(state: SideState) -> ToolResult: ...

The function's name is the registry key, the name the model sees, the ``name`` of the recorded action
and the key of gold replay. A body changes ``state.db`` and ``state.memory`` in place, refuses with
:class:`ToolRefusal` or :class:`InvalidArguments`, and does no I/O.

A body that is ``async def`` may do I/O. It takes a :class:`ToolContext` in the state's place, works on the clones of
the resources that the decorator's ``uses`` names, and is run by the harness only.
"""

from __future__ import annotations

import asyncio
import copy
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeVar, cast

from duologue.errors import RegistryError, ResourceFailed, ToolError
from duologue.records.action import Side
from duologue.registry import DEFAULT_DOMAIN, Registry, on_load
from duologue.state.side_state import SideState
from duologue.toolkit.arguments import bind_arguments, check_schema, check_values
from duologue.toolkit.resources import RESOURCES, Clones, HeldClones
from duologue.toolkit.results import ToolOutcome, ToolResult, error_value
from duologue.toolkit.rules import ToolHome, tool_home

__all__ = [
    "END_CALL_TOOL",
    "FACTORY_KEY",
    "TOOLS",
    "TOOL_FACTORIES",
    "Tool",
    "ToolBody",
    "ToolContext",
    "ToolFactory",
    "ToolKind",
    "generic_tool",
    "read_tool",
    "side_tools",
    "write_tool",
]

ToolBody = Callable[..., object]
"""``(state, **arguments) -> ToolResult``, or ``async (context, **arguments) -> ToolResult``."""

B = TypeVar("B", bound=ToolBody)
H = TypeVar("H")

TOOL_CRASHED = "tool_crashed"
"""The ``error_type`` of a call that met a bug of the tool."""

TOOL_S = 30.0
"""Seconds of real time that an ``async def`` tool has; one that takes longer is a crash."""

MAX_ERROR_CHARS = 2000
"""How much of an exception's text a model and a trace are shown."""


class ToolKind(StrEnum):
    """READ never changes state; WRITE may, and is recorded; GENERIC is recorded without a database."""

    READ = "read"
    WRITE = "write"
    GENERIC = "generic"


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What an ``async def`` tool works on: the side's state, and the attempt's clones that it declared in ``uses``."""

    state: SideState
    handles: Mapping[str, object] = field(default_factory=dict)

    def handle(self, name: str, kind: type[H]) -> H:
        """Return the handle of the clone ``name``.

        Raises:
            RegistryError: the tool did not declare it.
            TypeError: it is of another kind.
        """
        if name not in self.handles:
            raise RegistryError(f"the tool does not name {name!r} in uses; it has {', '.join(self.handles) or 'none'}")
        found = self.handles[name]
        if not isinstance(found, kind):
            raise TypeError(f"the handle of {name} is a {type(found).__name__}, not a {kind.__name__}")
        return found


@dataclass(frozen=True, slots=True)
class Tool:
    """One callable of a domain's surface.

    ``properties`` and ``required`` are the JSON schema of the arguments. ``exit_text`` is not empty for a
    tool that ends the call after its result was delivered. The body of an ``is_lenient`` tool answers values
    that its schema does not allow itself; of all others it sees only values that fit. ``uses`` names the resources that
    an ``async def`` body works on.
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
    uses: tuple[str, ...] = ()

    @property
    def is_async(self) -> bool:
        """Whether the body may do I/O, so that only the harness runs it and no replay does."""
        return inspect.iscoroutinefunction(self.body)

    @property
    def needs_db(self) -> bool:
        """Whether the tool works on a database, and on nothing else."""
        return self.kind is not ToolKind.GENERIC and not self.uses

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments object."""
        return {"type": "object", "properties": dict(self.properties), "required": list(self.required)}

    def check_arguments(self, arguments: Mapping[str, Any]) -> None:
        """Raise InvalidArguments when the body cannot be given these arguments."""
        bind_arguments(self.name, self.body, self.properties, arguments)
        if not self.is_lenient:
            check_values(self.name, self.body, self.properties, arguments)

    def invoke(self, state: SideState, arguments: Mapping[str, Any]) -> ToolOutcome:
        """Run the tool on ``state``, changing it in place; whatever goes wrong becomes an answer for the model.

        A call that is refused, that does not fit the schema or that crashes leaves ``state`` as it was and is not
        recorded; so does a tool that says it only looks and changes something all the same, which is a crash.

        Args:
            state: the side's state; ``state.db`` may be None only for GENERIC tools.
            arguments: keyword arguments, as the model gave them.
        """
        trial = _Trial(self, state)
        try:
            given = trial.admit(arguments)
            if self.is_async:
                raise RuntimeError("it is async, and only the harness runs those")
            return trial.accept(self.body(state, **given))
        except Exception as error:  # noqa: BLE001 - a bug of a domain must not end a call; it is reported in ``crash``
            return trial.undo(error)

    async def invoke_async(self, state: SideState, arguments: Mapping[str, Any], clones: Clones) -> ToolOutcome:
        """Run a tool of either kind as :meth:`invoke` does; what breaks leaves the clones as they were, too.

        Raises:
            ResourceFailed: a clone that the tool uses is not there or not in order; the state is as before.
        """
        if not self.is_async:
            return self.invoke(state, arguments)
        trial, held = _Trial(self, state), HeldClones(clones, ())
        try:
            given = trial.admit(arguments)
            context = ToolContext(state, clones.handles(self.uses))
            held = await clones.hold(self.uses)
            async with asyncio.timeout(TOOL_S):
                result = await cast(Awaitable[object], self.body(context, **given))
            return trial.accept(result, changed=await held.has_changed())
        except ResourceFailed as error:
            trial.restore()
            raise clones.failed(error) from error.__cause__
        except Exception as error:  # noqa: BLE001 - as in ``invoke``
            outcome = trial.undo(error)
            await held.undo()
            return outcome


class _Trial:
    """One call of a tool: what is checked before it, what is put back, and what is told of it."""

    def __init__(self, tool: Tool, state: SideState) -> None:
        self._tool = tool
        self._state = state
        self._before = state.copy()

    def admit(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments for the body. Raises ToolError when there is no database or they do not fit."""
        tool = self._tool
        if tool.needs_db and not self._state.db:
            raise _NoDatabase(f"{tool.name}: the database of this side is not initialized")
        tool.check_arguments(arguments)
        return copy.deepcopy(dict(arguments))

    def accept(self, result: object, *, changed: bool = False) -> ToolOutcome:
        """Return what a body's result means; ``changed``: it changed a clone. Raises for what no tool may do."""
        kind = self._tool.kind
        if not isinstance(result, ToolResult):
            raise TypeError(f"it returned a {type(result).__name__}, no ToolResult")
        changed = changed or (self._before.db, self._before.memory) != (self._state.db, self._state.memory)
        if changed and kind is not ToolKind.WRITE:
            raise AssertionError(f"a {kind} tool changed the state")
        is_recorded = kind is ToolKind.GENERIC or (kind is ToolKind.WRITE and (result.changed or changed))
        return ToolOutcome(result.value, result.out, is_recorded=is_recorded)

    def undo(self, error: Exception) -> ToolOutcome:
        """Put the state back and return what the model is told: a refusal, or a crash."""
        self.restore()
        if isinstance(error, ToolError):
            return ToolOutcome(error_value(error.error_type, str(error)), error_type=error.error_type)
        message = f"tool {self._tool.name} crashed: {type(error).__name__}: {error}"[:MAX_ERROR_CHARS]
        return ToolOutcome(error_value(TOOL_CRASHED, message), error_type=TOOL_CRASHED, crash=message)

    def restore(self) -> None:
        """Put the state back."""
        self._state.db, self._state.memory = self._before.db, self._before.memory


class _NoDatabase(ToolError):
    error_type = "db_not_initialized"


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
    uses: Sequence[str] = (),
) -> Callable[[B], B]:
    def register(body: B) -> B:
        properties = parameters or {}
        signature = inspect.signature(body).parameters
        required = tuple(name for name in properties if signature[name].default is inspect.Parameter.empty)
        tool = Tool(
            body.__name__,
            domain,
            side,
            kind,
            description,
            body,
            properties,
            required,
            exit_text,
            is_lenient=lenient,
            uses=tuple(uses),
        )
        check_schema(tool.name, tool.schema)
        if uses and not tool.is_async:
            raise RegistryError(f"tool {tool.name!r} uses {', '.join(uses)}; only an async def tool can use resources")
        TOOLS.register(domain, tool.name, tool, owner=body.__module__)
        return body

    return register


def read_tool(
    domain: str,
    side: Side,
    description: str,
    parameters: dict[str, Any] | None = None,
    *,
    lenient: bool = False,
    uses: Sequence[str] = (),
) -> Callable[[B], B]:
    """Register a tool that only looks. ``parameters`` maps argument names to JSON schemas, which the arguments have to
    fit unless the tool is ``lenient``. ``uses`` names the resources of an ``async def`` tool.
    """
    return _declare(ToolKind.READ, domain, side, description, parameters, lenient=lenient, uses=uses)


def write_tool(
    domain: str,
    side: Side,
    description: str,
    parameters: dict[str, Any] | None = None,
    *,
    lenient: bool = False,
    uses: Sequence[str] = (),
) -> Callable[[B], B]:
    """Register a tool that may change its side's state; every change is recorded and pushed to the bridge."""
    return _declare(ToolKind.WRITE, domain, side, description, parameters, lenient=lenient, uses=uses)


def generic_tool(
    domain: str, side: Side | None, description: str, parameters: dict[str, Any] | None = None, exit_text: str = ""
) -> Callable[[B], B]:
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
        RegistryError: there is no such tool or factory, the settings do not make a tool, a tool that stands in
            the registry is given settings, or the tool is async and its domain does not leave it to the harness.
    """
    if not settings:
        return check_home(TOOLS.get(domain, name, fall_back=True))
    factory = settings.get(FACTORY_KEY)
    if factory is None:
        raise RegistryError(f"tool {name} takes no settings, got {dict(settings)}")
    try:
        return check_home(TOOL_FACTORIES.get(domain, str(factory))(name, settings))
    except ToolError as error:
        raise RegistryError(f"tool {name} of factory {factory}: {error}") from error


def check_home(tool: Tool) -> Tool:
    """Return ``tool``.

    Raises:
        RegistryError: it is async but not run by the harness, or it uses a resource that its domain does not have.
    """
    if not tool.is_async:
        return tool
    if tool.side is None or tool_home(tool.domain, tool.side) is not ToolHome.HARNESS:
        side = f"Side.{tool.side.name}" if tool.side is not None else "one side"
        raise RegistryError(
            f"tool {tool.name!r} of domain {tool.domain!r} is async def, so only the harness can run it: declare "
            f"tool_homes={{{side}: ToolHome.HARNESS}} in the domain's Catalogue, or make it a plain def"
        )
    for name in tool.uses:
        RESOURCES.get(tool.domain, name)
    return tool


@on_load
def _check_homes(domain: str) -> None:
    for _, tool in TOOLS.items(domain):
        check_home(tool)


def side_tools(domain: str, side: Side) -> dict[str, Tool]:
    """Return the tools that ``side`` may call in ``domain``, by name, in registration order."""
    return {name: tool for name, tool in TOOLS.items(domain) if tool.side is side}
