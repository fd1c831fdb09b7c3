"""The tool manifest of a scenario, as turn agents and chat endpoints take it."""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from duologue.records.action import Side
from duologue.records.scenario import Scenario
from duologue.toolkit.tool import Tool, find_tool

MANIFEST_KEY = "manifest"
"""The key of a tool's settings that holds its manifest entry as the record gave it."""

_SAFE_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def manifest_of(scenario: Scenario) -> list[dict[str, object]]:
    """Return the agent's tools in the order of the scenario: the record's own entry, else one made from the tool.

    Tools that only end a call are left out: a turn agent cannot hang up.

    Raises:
        RegistryError: the scenario names a tool that its domain does not have.
    """
    entries: list[dict[str, object]] = []
    for name, settings in scenario.side(Side.AGENT).resources.tools.items():
        given = settings.get(MANIFEST_KEY)
        if isinstance(given, dict):
            entries.append(copy.deepcopy(given))
            continue
        tool = find_tool(scenario.domain, name, settings)
        if not tool.exit_text:
            entries.append(_entry(tool))
    return entries


def _entry(tool: Tool) -> dict[str, object]:
    parameters = {"type": "object", "properties": tool.properties, "required": list(tool.required)}
    function = {"name": tool.name, "description": tool.description, "parameters": parameters}
    return {"type": "function", "function": function}


def function_of(entry: dict[str, object]) -> dict[str, object]:
    """Return the function object of a manifest entry, wrapped or bare."""
    function = entry.get("function")
    return function if isinstance(function, dict) else entry


@dataclass(slots=True)
class WireNames:
    """Tool names that endpoints accept, and the way back: letters, digits, ``_`` and ``-``, 64 at most."""

    wire: dict[str, str] = field(default_factory=dict)
    original: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, manifest: Sequence[dict[str, Any]]) -> WireNames:
        """Return the names of a manifest; a name that is accepted as it is stays."""
        names = cls()
        known = [str(function_of(entry).get("name", "")) for entry in manifest]
        for name in sorted(set(known), key=lambda name: (not _SAFE_NAME.fullmatch(name), name)):
            safe = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:60] or "tool"
            number, wire = 2, safe if not _SAFE_NAME.fullmatch(name) else name
            while wire in names.original:
                wire, number = f"{safe}_{number}", number + 1
            names.wire[name], names.original[wire] = wire, name
        return names

    def to_wire(self, name: str) -> str:
        """Return what the endpoint knows the tool as."""
        return self.wire.get(name, name)

    def from_wire(self, name: str) -> str:
        """Return the record's name of what the endpoint called."""
        return self.original.get(name, name)

    def functions(self, manifest: Sequence[dict[str, object]]) -> list[dict[str, object]]:
        """Return the manifest's function objects under their wire names."""
        functions = (function_of(entry) for entry in manifest)
        return [{**function, "name": self.to_wire(str(function.get("name", "")))} for function in functions]
