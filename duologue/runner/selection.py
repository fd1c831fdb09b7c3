"""Choosing scenarios by name, by prefix and by number: pure functions on names."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Sequence

from duologue.errors import RegistryError
from duologue.records.scenario import Scenario
from duologue.runner.settings import ALL_SUITES
from duologue.toolkit.rules import SUITE_LABEL

_NEAR = 5  # as many near names as fit in a message


def prefix_of(name: str) -> str:
    """Return the registration a scenario name belongs to: the text before the first two underscores."""
    return name.split("__", 1)[0]


def select_scenarios(
    scenarios: Sequence[Scenario],
    *,
    names: Sequence[str] = (),
    prefix: str = "",
    suite: str = ALL_SUITES,
    limit: int | None = None,
) -> list[Scenario]:
    """Return the chosen scenarios: in the order of ``names``, otherwise in catalogue order.

    ``limit`` keeps the first ones. Where every scenario belongs to a suite and none was named, it takes the first of
    each suite, then the second of each, and so on.

    Raises:
        RegistryError: a name or the prefix is unknown; near matches are listed.
    """
    if names:
        chosen = _by_names(scenarios, names)
    elif prefix:
        chosen = [scenario for scenario in scenarios if scenario.prefix == prefix]
        if not chosen:
            raise RegistryError(unknown_prefix(prefix, {scenario.prefix for scenario in scenarios}))
    else:
        chosen = list(scenarios)
    if suite != ALL_SUITES:
        chosen = [scenario for scenario in chosen if scenario.labels.get(SUITE_LABEL) == suite]
    if limit is None or limit >= len(chosen):
        return chosen
    if names or not all(SUITE_LABEL in scenario.labels for scenario in chosen):
        return chosen[:limit]
    return _stratified(chosen, limit)


def _stratified(scenarios: Sequence[Scenario], limit: int) -> list[Scenario]:
    seen: Counter[str] = Counter()
    ranks = []
    for index, scenario in enumerate(scenarios):
        suite = scenario.labels[SUITE_LABEL]
        ranks.append((seen[suite], index))
        seen[suite] += 1
    return [scenarios[index] for index in sorted(index for _, index in sorted(ranks)[:limit])]


def _by_names(scenarios: Sequence[Scenario], names: Sequence[str]) -> list[Scenario]:
    known = {scenario.name: scenario for scenario in scenarios}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise RegistryError("\n".join(unknown_name(name, known) for name in unknown))
    return [known[name] for name in dict.fromkeys(names)]


def unknown_name(name: str, known: Iterable[str]) -> str:
    """Return the sentence that reports an unknown scenario name, with the near ones."""
    near = difflib.get_close_matches(name, list(known), n=_NEAR, cutoff=0.6)
    hint = "".join(f"\n  did you mean {match}" for match in near)
    return f"unknown scenario {name!r}{hint or '; --list prints all names'}"


def unknown_prefix(prefix: str, known: Iterable[str]) -> str:
    """Return the sentence that reports a prefix without scenarios, with the known ones."""
    names = sorted(known)
    near = difflib.get_close_matches(prefix, names, n=3, cutoff=0.5)
    hint = f"did you mean {', '.join(near)}?" if near else f"known: {', '.join(names) or 'none'}"
    return f"no scenario begins with {prefix + '__'!r}; {hint}"


def count_by_prefix(scenarios: Iterable[Scenario]) -> dict[str, int]:
    """Return how many scenarios each registration has, sorted by name."""
    return dict(sorted(Counter(scenario.prefix for scenario in scenarios).items()))
