"""Names to objects: domains, catalogues, scenarios."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from duologue.errors import ConfigError, DuologueError, RegistryError, ScenarioError
from duologue.records.action import Side
from duologue.records.scenario import CatalogueOptions, Scenario, SignalName
from duologue.registry import available_domains, load_domain
from duologue.runner.selection import prefix_of, select_scenarios
from duologue.runner.settings import ALL_SUITES, REFERENCE_MODE, RunSettings, Selection
from duologue.scoring import checking  # noqa: F401 - registers the engine's checks
from duologue.state.fixtures import data_file, read_text
from duologue.toolkit.caller_machine import CALLER_MACHINES
from duologue.toolkit.checks import choose_checks
from duologue.toolkit.dual_state import DualState, replay_reference, unplayable_steps
from duologue.toolkit.resource_life import used_resources
from duologue.toolkit.rules import CATALOGUES, RULES_NAME, Catalogue, CatalogueFlag
from duologue.toolkit.tool import find_tool

DEMO_LIST = "demo.txt"


def load_catalogues() -> dict[str, Catalogue]:
    """Load every domain under the domain roots and return the catalogues by domain name.

    A domain without a catalogue has no scenarios and is left out.
    """
    found = {}
    for domain in available_domains():
        load_domain(domain)
        catalogue = CATALOGUES.find(domain, RULES_NAME)
        if catalogue is not None:
            found[domain] = catalogue
    return found


def compat_modes() -> tuple[str, ...]:
    """Return what ``--compat`` takes: the engine's own mode, and the rule profiles of domains beside their default."""
    profiles = (profile for catalogue in load_catalogues().values() for profile in catalogue.profiles[1:])
    return (REFERENCE_MODE, *dict.fromkeys(profiles))


def domain_flags() -> list[CatalogueFlag]:
    """Return the command line flags that domains bring along.

    Raises:
        RegistryError: two domains have a different flag of one name.
    """
    flags: dict[str, CatalogueFlag] = {}
    for domain, catalogue in load_catalogues().items():
        for flag in catalogue.flags:
            if flags.setdefault(flag.name, flag) != flag:
                raise RegistryError(f"domain {domain} declares --{flag.name} otherwise than a domain before it")
    return list(flags.values())


def build_scenarios(selection: Selection) -> list[Scenario]:
    """Return the scenarios that ``selection`` asks for, in order.

    Raises:
        RegistryError: a name or a prefix is unknown.
        ConfigError: a domain lacks the split, the profile or the upstream source that is asked for.
        FixtureError: a data file is missing or malformed.
    """
    catalogues = load_catalogues()
    wanted = {prefix_of(name) for name in selection.names} or {selection.prefix}
    chosen = {domain: cat for domain, cat in catalogues.items() if wanted & set(cat.prefixes)}
    is_filtered = bool(selection.names or selection.prefix)
    if is_filtered and wanted <= {prefix for cat in chosen.values() for prefix in cat.prefixes}:
        catalogues = chosen
    _check_flags(catalogues, selection)
    scenarios = list(_load_all(catalogues, selection))
    return select_scenarios(
        scenarios, names=selection.names, prefix=selection.prefix, suite=selection.suite, limit=selection.limit
    )


def _check_flags(catalogues: dict[str, Catalogue], selection: Selection) -> None:
    """Refuse flags and suites that none of the chosen domains has."""
    where = f"domain {', '.join(catalogues)}"
    known = {flag.name for catalogue in catalogues.values() for flag in catalogue.flags}
    for name in selection.extra:
        if name not in known:
            raise ConfigError(f"--{name}: {where} has no such option; leave it out")
    suites = dict.fromkeys(suite for catalogue in catalogues.values() for suite in catalogue.suites)
    if selection.suite != ALL_SUITES and selection.suite not in suites:
        raise ConfigError(f"--suite {selection.suite}: {where} has {', '.join([*suites, ALL_SUITES])}")


def _load_all(catalogues: dict[str, Catalogue], selection: Selection) -> Iterable[Scenario]:
    for domain, catalogue in catalogues.items():
        yield from catalogue.load(_catalogue_options(domain, catalogue, selection))


def _catalogue_options(domain: str, catalogue: Catalogue, selection: Selection) -> CatalogueOptions:
    if selection.split not in catalogue.splits:
        raise ConfigError(f"--split {selection.split}: domain {domain} has {', '.join(catalogue.splits)}")
    profile = catalogue.profiles[0]
    for mode in (mode for mode in selection.compat if mode != REFERENCE_MODE):
        if mode not in catalogue.profiles:
            raise ConfigError(f"--compat {mode}: domain {domain} has only {', '.join(catalogue.profiles)}")
        profile = mode
    own = {flag.name: selection.extra.get(flag.name, flag.default) for flag in catalogue.flags}
    extra = {name: value for name, value in own.items() if value}
    return CatalogueOptions(split=selection.split, profile=profile, extra=extra)


def demo_names() -> tuple[str, ...]:
    """Return the scenario names listed in ``demo.txt`` under the data root; ``#`` starts a comment."""
    lines = read_text(data_file(DEMO_LIST)).splitlines()
    return tuple(name for line in lines if (name := line.split("#", 1)[0].strip()))


def apply_run_settings(scenarios: Sequence[Scenario], settings: RunSettings) -> list[Scenario]:
    """Return the scenarios with the run's overrides: duration, strict matching, one turn with tool calls."""
    changes: dict[str, object] = {}
    if settings.duration_s is not None:
        changes["max_duration_s"] = settings.duration_s
    if settings.strict_match:
        changes["disallow_extra_items"] = True
    if settings.is_one_shot:
        changes["max_tool_turns"] = 1
    return [scenario.model_copy(update=changes) for scenario in scenarios]


def check_scenarios(scenarios: Sequence[Scenario]) -> None:
    """Replay every reference solution, so that a broken scenario is found before a call starts.

    A solution whose tools are async is not replayed: its steps only have to fit their tools.

    Raises:
        ScenarioError: one line for each broken scenario.
    """
    broken = []
    for scenario in scenarios:
        try:
            choose_checks(scenario)
            used_resources(scenario)
            if scenario.caller.machine:
                CALLER_MACHINES.get(scenario.domain, scenario.caller.machine)
            if steps := unplayable_steps(scenario):
                _check_unplayable(scenario, steps)
            else:
                replay_reference(scenario)
        except DuologueError as error:
            broken.append(str(error) if scenario.name in str(error) else f"{scenario.name}: {error}")
        except Exception as error:  # noqa: BLE001 - a domain's tools met a database they were not written for
            what = f"{type(error).__name__}: {error}"
            broken.append(
                f"{scenario.name}: the reference solution cannot be replayed ({what}); is its database whole?"
            )
    if broken:
        raise ScenarioError("broken scenarios, nothing was run:\n" + "\n".join(broken))


def _check_unplayable(scenario: Scenario, steps: Sequence[str]) -> None:
    needs_gold = {SignalName.ACTION_MATCH, SignalName.DB_STATE_MATCH} & set(scenario.success_signals)
    if needs_gold:
        raise ScenarioError(
            f"{scenario.name}: {', '.join(sorted(needs_gold))} cannot gate: the reference actions {', '.join(steps)} "
            "have async tools, which are not replayed; gate on a check of the domain that looks at evidence.resources"
        )
    DualState.for_scenario(scenario)
    for step in scenario.reference_actions:
        settings = scenario.side(step.side).resources.tools.get(step.name)
        find_tool(scenario.domain, step.name, settings).check_arguments(step.arguments)


def needed_bots(scenarios: Iterable[Scenario]) -> tuple[Side, ...]:
    """Return the sides that some scenario needs a bot for: recorded callers need none."""
    return tuple(side for side in Side if any(side in scenario.bot_sides for scenario in scenarios))


def check_adapter(scenarios: Iterable[Scenario]) -> None:
    """Refuse scenarios that a turn agent cannot take part in.

    Raises:
        ScenarioError: the caller of one is not recorded, or its tools work on resources.
    """
    for scenario in scenarios:
        if not scenario.caller.is_fixed:
            raise ScenarioError(
                f"--adapter: turn agents hear recorded callers only; the caller of {scenario.name} is "
                f"{scenario.caller.what}: test the agent as a bot, or give the scenario a recorded caller"
            )
        if used := used_resources(scenario):
            raise ScenarioError(
                f"--adapter: the tools of {scenario.name} work on {', '.join(used)}, and the calls of turn agents are "
                "run nowhere: test the agent as a bot"
            )


def judged_scenarios(scenarios: Iterable[Scenario]) -> list[str]:
    """Return the names of the scenarios that cannot be graded in full without a judge."""
    return [
        scenario.name
        for scenario in scenarios
        if any(item.needs_judge(scenario) for item in choose_checks(scenario).named)
    ]
