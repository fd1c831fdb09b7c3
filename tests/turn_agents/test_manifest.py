from typing import Any

from duologue.turn_agents.manifest import WireNames


def test_names_that_endpoints_refuse_are_renamed_and_found_again():
    names = WireNames.of([{"name": "location.get"}, {"function": {"name": "location_get"}}, {"name": "plain-1"}])
    wire = [names.to_wire(name) for name in ("location.get", "location_get", "plain-1")]
    assert wire == ["location_get_2", "location_get", "plain-1"]
    assert [names.from_wire(name) for name in wire] == ["location.get", "location_get", "plain-1"]


def test_a_long_name_becomes_short_and_unknown_ones_stay():
    names = WireNames.of([{"name": "x" * 100}, {"name": "x" * 101}])
    wires = {names.to_wire("x" * 100), names.to_wire("x" * 101)}
    assert len(wires) == 2 and all(len(wire) <= 64 for wire in wires)
    assert names.from_wire("something else") == "something else"


def test_functions_come_bare_under_their_wire_names():
    manifest: list[dict[str, Any]] = [
        {"type": "function", "function": {"name": "a.b", "description": "d"}},
        {"name": "c"},
    ]
    assert WireNames.of(manifest).functions(manifest) == [{"name": "a_b", "description": "d"}, {"name": "c"}]
