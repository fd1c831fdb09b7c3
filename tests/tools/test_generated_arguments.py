"""Arguments that nobody would write, by the thousand, against every tool of every domain."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from typing import Any

import pytest

from duologue.records.action import Side
from duologue.records.scenario import CatalogueOptions, Scenario
from duologue.registry import available_domains, load_domain
from duologue.toolkit.dual_state import DualState
from duologue.toolkit.rules import CATALOGUES, RULES_NAME
from duologue.toolkit.side_host import SideHost
from duologue.toolkit.tool import side_tools

SETS = int(os.environ.get("DUOLOGUE_GENERATED_SETS", "10000"))
"""How many argument sets each domain gets, spread over its tools."""

SCALARS: list[Any] = [
    *(None, True, False, 0, 1, -1, 3, 2.5, 10**400, -(10**30), 1.7e308, 5e-324),
    *("", "1", "true", "null", "x" * 5000, "\x00\x1b[2J", "ſMS", "𝔘", "../..", "{}", "C1001", "L1002", "B1002"),
    *("555-123-2002", "messaging", "sms", "4g_only", "2025-02-25", "John Smith", "1985-06-15"),
]


def value(chance: random.Random, depth: int = 0) -> Any:
    """Return any JSON value, mostly small."""
    kind = chance.random()
    if kind < 0.12 and depth < 3:
        return [value(chance, depth + 1) for _ in range(chance.randrange(4))]
    if kind < 0.24 and depth < 3:
        return {str(chance.choice(SCALARS))[:20]: value(chance, depth + 1) for _ in range(chance.randrange(4))}
    return chance.choice(SCALARS)


def fitting(schema: dict[str, Any], chance: random.Random) -> Any:
    """Return a value that a schema at least suggests."""
    if schema.get("enum"):
        return chance.choice(schema["enum"])
    kinds = schema.get("type", "string")
    kind = chance.choice(kinds) if isinstance(kinds, list) else kinds
    if kind == "object":
        return {name: fitting(part, chance) for name, part in schema.get("properties", {}).items()}
    numbers = {"integer": chance.randrange(5), "number": chance.random() * 5, "boolean": chance.random() < 0.5}
    texts = [scalar for scalar in SCALARS if isinstance(scalar, str)]
    return numbers.get(kind, None if kind == "null" else chance.choice(texts))


def arguments(properties: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """Return arguments of which some fit, some do not, some lack and some are of nobody."""
    made = {}
    for name, schema in properties.items():
        kind = chance.random()
        if kind < 0.5 and isinstance(schema, dict):
            made[name] = fitting(schema, chance)
        elif kind < 0.92:
            made[name] = value(chance)
    if chance.random() < 0.08:
        made[chance.choice(["self", "state", "unexpected", "", "a b"])] = value(chance)
    return made


def scenarios(domain: str) -> list[Scenario]:
    load_domain(domain)
    catalogue = CATALOGUES.get(domain, RULES_NAME)
    return list(catalogue.load(CatalogueOptions(split="base", profile=catalogue.profiles[0])))


def hosts(domain: str) -> Iterator[tuple[SideHost, SideHost]]:
    """Yield a host of every tool of a side, and its twin in the same initial state."""
    for scenario in scenarios(domain)[:40]:
        for side in Side:
            dual, twin = DualState.for_scenario(scenario), DualState.for_scenario(scenario)
            host = dual.host(side)
            host.tools |= side_tools(domain, side)
            if host.tools:
                other = twin.host(side)
                other.tools |= host.tools
                yield host, other


@pytest.mark.slow
@pytest.mark.parametrize("domain", available_domains())
def test_every_tool_answers_and_changes_nothing_that_it_does_not_record(domain: str) -> None:
    chance = random.Random(f"arguments of {domain}")
    held = list(hosts(domain))
    total = sum(len(host.tools) for host, _ in held)
    recorded = refused = 0
    for host, twin in held:
        for name, tool in host.tools.items():
            for _ in range(-(-SETS // total)):
                given = arguments(tool.properties, chance)
                before = host.state.digest()
                done = host.perform(name, given)
                json.dumps(done.value, allow_nan=False)
                assert not done.crash, (name, given, done.crash)
                if done.action is None:
                    assert host.state.digest() == before, (name, given)
                    refused += 1
                    continue
                recorded += 1
                twin.perform(name, done.action.arguments)
                assert host.state.digest() == twin.state.digest(), (name, given)
    assert recorded + refused >= SETS
    assert recorded
