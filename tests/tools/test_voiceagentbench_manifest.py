from typing import Any

import pytest

from duologue.errors import RegistryError
from duologue.state.side_state import SideState
from duologue.toolkit.tool import ToolKind, find_tool
from tools.voiceagentbench.manifest import callable_names, json_schema, manifest_name, tool_settings

DOMAIN = "voiceagentbench"
ADD: dict[str, Any] = {
    "type": "function",
    "function": {"name": "list.add", "description": "Add.", "parameters": {"type": "dict"}},
}


def tool(item: dict, **results):
    name, settings = next(iter(tool_settings([item], results).items()))
    return find_tool(DOMAIN, name, settings)


def test_both_shapes_of_an_item_are_read():
    assert manifest_name(ADD) == manifest_name(ADD["function"]) == "list.add"


def test_dots_are_replaced_and_the_way_back_is_kept():
    names = callable_names([ADD, {"name": "plain-1"}])
    assert list(names) == ["list_add", "plain-1"]
    assert manifest_name(names["list_add"]) == "list.add"


@pytest.mark.parametrize("order", [("a.b", "a_b"), ("a_b", "a.b")])
def test_names_that_fall_together_stay_apart(order):
    names = callable_names([{"name": name} for name in order])
    assert {manifest_name(item): name for name, item in names.items()} == {"a_b": "a_b", "a.b": "a_b_2"}


def test_long_names_are_cut_to_what_endpoints_take():
    names = callable_names([{"name": "x." * 50}, {"name": "x." * 51}])
    assert len(names) == 2 and all(len(name) <= 64 for name in names)


def test_a_call_is_answered_by_the_constant_envelope_under_the_original_name():
    outcome = tool(ADD).invoke(SideState(DOMAIN), {"item": "salt", "state": 1})
    assert outcome.value == {"ok": True, "tool": "list.add", "args": {"item": "salt", "state": 1}}


def test_a_canned_result_is_added_to_the_envelope():
    outcome = tool(ADD, **{"list.add": {"id": 7}}).invoke(SideState(DOMAIN), {})
    assert outcome.value == {"ok": True, "tool": "list.add", "args": {}, "result": {"id": 7}}


def test_a_tool_needs_no_database_and_is_recorded():
    made = tool(ADD)
    assert made.kind is ToolKind.GENERIC and made.invoke(SideState(DOMAIN), {}).is_recorded


def test_python_like_types_become_json_schema_and_the_rest_stays():
    schema = {
        "type": "dict",
        "properties": {
            "type": {"type": "str", "enum": ["float", "any"]},
            "at": {"type": "tuple", "items": {"type": "float"}},
            "raw": {"type": "any", "description": "dict"},
            "n": {"type": ["int", "null"]},
        },
        "required": ["type"],
    }
    assert json_schema(schema) == {
        "type": "object",
        "properties": {
            "type": {"type": "string", "enum": ["float", "any"]},
            "at": {"type": "array", "items": {"type": "number"}},
            "raw": {"description": "dict"},
            "n": {"type": ["integer", "null"]},
        },
        "required": ["type"],
    }


@pytest.mark.parametrize("settings", [{"factory": "manifest"}, {"factory": "manifest", "manifest": {"name": 3}}])
def test_settings_without_a_named_item_are_refused(settings):
    with pytest.raises(RegistryError, match="the manifest item has no name"):
        find_tool(DOMAIN, "x", settings)


def test_an_unknown_factory_is_refused():
    with pytest.raises(RegistryError, match="tool factory"):
        find_tool(DOMAIN, "x", {"factory": "oven"})
