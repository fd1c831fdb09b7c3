"""From a record's tool manifest to tools: names that every endpoint takes, JSON schemas, one constant answer.

Tools are never executed: a call is answered by an envelope that repeats it. A record may bring a canned result.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from duologue.errors import ToolError
from duologue.records.action import Side
from duologue.state.side_state import SideState
from duologue.toolkit.results import ToolResult
from duologue.toolkit.tool import FACTORY_KEY, TOOL_FACTORIES, Tool, ToolKind

DOMAIN = "voiceagentbench"
FACTORY = "manifest"

_MAX_NAME = 64
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")
_TYPES = {"dict": "object", "float": "number", "double": "number", "int": "integer", "bool": "boolean"}
_TYPES |= {"str": "string", "list": "array", "tuple": "array", "set": "array", "hashtable": "object", "any": ""}
_JSON_TYPES = frozenset({"object", "number", "integer", "boolean", "string", "array", "null"})


def function_of(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return the function object of a manifest item, which is either one or wraps one under ``function``."""
    inner = item.get("function")
    return dict(inner) if isinstance(inner, Mapping) else dict(item)


def manifest_name(item: Mapping[str, Any]) -> str:
    """Return the tool's name as the manifest has it; empty when it has none."""
    name = function_of(item).get("name")
    return name if isinstance(name, str) else ""


def callable_names(manifest: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return the manifest items by a name that chat-completions endpoints accept, in order.

    A name with other characters than letters, digits, ``_`` and ``-`` gets underscores in their place; names that would
    fall together get a number. The item keeps the original, so the way back is a look-up.
    """
    names: dict[str, Mapping[str, Any]] = {}
    originals = {manifest_name(item) for item in manifest}
    for item in manifest:
        original = manifest_name(item)
        stem = _UNSAFE.sub("_", original)[:_MAX_NAME] or "tool"
        name, number = stem, 1
        while name in names or (name != original and name in originals):
            number += 1
            name = f"{stem[: _MAX_NAME - len(str(number)) - 1]}_{number}"
        names[name] = item
    return names


def json_schema(schema: Any) -> Any:
    """Return a schema with Python-like type names replaced by those of JSON Schema; ``any`` drops the constraint."""
    if isinstance(schema, list):
        return [json_schema(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    result: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "properties" and isinstance(value, Mapping):
            result[key] = {name: json_schema(item) for name, item in value.items()}
        elif key == "type":
            mapped = _json_type(value)
            if mapped:
                result[key] = mapped
        elif key in {"enum", "const", "default", "examples", "required", "description"}:
            result[key] = value
        else:
            result[key] = json_schema(value)
    return result


def _json_type(value: Any) -> Any:
    if isinstance(value, list):
        mapped = [_json_type(item) for item in value]
        return [] if "" in mapped else mapped
    if not isinstance(value, str):
        return ""
    name = value.strip().lower()
    return name if name in _JSON_TYPES else _TYPES.get(name, "")


def parameters_of(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of a tool's arguments; a tool without one takes none."""
    schema = json_schema(function_of(item).get("parameters") or {})
    return {"type": "object", "properties": {}, **schema} if isinstance(schema, dict) else {"type": "object"}


def tool_settings(
    manifest: Sequence[Mapping[str, Any]], results: Mapping[str, Any] | None = None
) -> dict[str, dict[str, Any]]:
    """Return ``resources.tools`` for a manifest: settings by callable name, each with the item as it stands."""
    settings: dict[str, dict[str, Any]] = {}
    for name, item in callable_names(manifest).items():
        settings[name] = {FACTORY_KEY: FACTORY, "manifest": dict(item)}
        if results and manifest_name(item) in results:
            settings[name]["result"] = results[manifest_name(item)]
    return settings


def envelope(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return what every call is answered with."""
    return {"ok": True, "tool": name, "args": dict(arguments)}


def build_tool(name: str, settings: Mapping[str, Any]) -> Tool:
    """Make the tool ``name`` from its manifest item.

    Raises:
        ToolError: the settings hold no manifest item with a name.
    """
    item = settings.get("manifest")
    original = manifest_name(item) if isinstance(item, Mapping) else ""
    if not isinstance(item, Mapping) or not original:
        raise ToolError("the manifest item has no name")
    schema = parameters_of(item)
    properties = schema.get("properties")
    required = schema.get("required")

    def answer(state: SideState, /, **arguments: Any) -> ToolResult:
        value = envelope(original, arguments)
        return ToolResult({**value, "result": settings["result"]} if "result" in settings else value)

    return Tool(
        name=name,
        domain=DOMAIN,
        side=Side.AGENT,
        kind=ToolKind.GENERIC,
        description=str(function_of(item).get("description") or ""),
        body=answer,
        properties=properties if isinstance(properties, dict) else {},
        required=tuple(str(key) for key in required) if isinstance(required, list) else (),
        is_lenient=True,
    )


TOOL_FACTORIES.register(DOMAIN, FACTORY, build_tool, owner=__name__)
