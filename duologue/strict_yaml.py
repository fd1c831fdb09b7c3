"""YAML that says everything once: a key that occurs twice in one section is an error, not a silent choice."""

from __future__ import annotations

from typing import Any

import yaml

_MERGE = "tag:yaml.org,2002:merge"


class _Loader(yaml.SafeLoader):
    """Plain values only, with the repeated keys of each mapping refused."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        """Compose a mapping and look at its keys, before merged ones join them."""
        node = super().compose_mapping_node(anchor)
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag == _MERGE:
                continue
            if key.value in seen:
                raise yaml.composer.ComposerError(None, None, f"the key {key.value!r} occurs twice", key.start_mark)
            seen.add(key.value)
        return node


def load_yaml(text: str) -> Any:
    """Return the value of a YAML document.

    Raises:
        yaml.YAMLError: not YAML, a key occurs twice in one section, a value holds itself or is nested too deeply.
    """
    try:
        value = yaml.load(text, _Loader)
    except RecursionError as error:
        raise yaml.YAMLError("nested too deeply") from error
    _refuse_loops(value, frozenset())
    return value


def _refuse_loops(value: object, above: frozenset[int]) -> None:
    if id(value) in above:
        raise yaml.YAMLError("a value holds itself")
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for child in children:
        _refuse_loops(child, above | {id(value)})
