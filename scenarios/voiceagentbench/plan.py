"""The calls that meet every expectation of a record, for agents that only prove that a task can be passed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from scenarios.voiceagentbench.axes import Call
from scenarios.voiceagentbench.records import Expectation, Suite, TaskRecord
from tools.voiceagentbench.manifest import manifest_name, parameters_of

_SAMPLES: dict[str, Any] = {"number": 1.0, "integer": 1, "boolean": True, "array": [], "object": {}}


def reference_plan(record: TaskRecord) -> list[Call]:
    """Return the expected calls in the order that is scored; arguments that a schema asks for are filled in."""
    expected = list(record.expected_tool_calls)
    if record.suite is Suite.SEQUENTIAL and all(item.order is not None for item in expected):
        expected.sort(key=lambda item: item.order or 0)
    schemas = {manifest_name(item): parameters_of(item) for item in reversed(record.tool_manifest)}
    return [Call(item.tool_name, _arguments(item, schemas.get(item.tool_name, {}))) for item in expected]


def _arguments(expectation: Expectation, schema: Mapping[str, Any]) -> dict[str, Any]:
    arguments = {**expectation.required_params, **expectation.substring_params}
    for name, values in expectation.accepted_params.items():
        stated = [value for value in values if value not in ("", None)]
        may_be_absent = len(stated) < len(values)
        if name not in arguments and stated and not may_be_absent:
            arguments[name] = stated[0]
    known = {*arguments, *expectation.accepted_params}
    properties = schema.get("properties") or {}
    for name in _texts(schema.get("required")):
        if name not in known:
            arguments[name] = _sample(properties.get(name) or {})
    return {name: value for name, value in arguments.items() if value is not None}


def _texts(names: Any) -> Sequence[str]:
    return [str(name) for name in names] if isinstance(names, list) else []


def _sample(schema: Mapping[str, Any]) -> Any:
    """Return a value that fits a parameter whose content is not scored."""
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return schema["enum"][0]
    kind = schema.get("type")
    return _SAMPLES.get(str(kind), "from the step before")
