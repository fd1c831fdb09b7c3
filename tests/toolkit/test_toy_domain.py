"""A new dual-side domain needs its four places and nothing in the engine."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from duologue.errors import ScenarioError
from duologue.records.action import Side
from duologue.records.scenario import CatalogueOptions, Scenario
from duologue.registry import available_domains, load_domain
from duologue.toolkit.dual_state import DualState, replay_reference
from duologue.toolkit.phrasebook import PHRASEBOOKS
from duologue.toolkit.rules import CATALOGUES, PREDICATES, RULES_NAME, SYNC_RULES

TOY = Path(__file__).parents[1] / "toy_domain"
GUIDE = Path(__file__).parents[2] / "docs" / "authoring.md"


@pytest.fixture(scope="module")
def scenarios() -> Iterator[Sequence[Scenario]]:
    """The toy domain's scenarios, loaded the way a user's own domain is."""
    packages = [importlib.import_module(name) for name in ("scenarios", "tools", "sync")]
    paths = [list(package.__path__) for package in packages]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DUOLOGUE_DOMAINS", os.pathsep.join([str(TOY)]))
        load_domain("heating")
        yield CATALOGUES.get("heating", RULES_NAME).load(CatalogueOptions())
    for package, before in zip(packages, paths, strict=True):
        package.__path__[:] = before


def named(scenarios: Sequence[Scenario], task_id: str) -> Scenario:
    return next(scenario for scenario in scenarios if scenario.task_id == task_id)


def is_heating(dual: DualState) -> bool:
    return PREDICATES.get("heating", "assert_heating")(dual.side(Side.USER).db)


def test_domain_is_found_beside_the_shipped_ones(scenarios: Sequence[Scenario]) -> None:
    assert {"heating", "tau2_telecom"} <= set(available_domains())
    assert [scenario.name for scenario in scenarios] == ["heating__supply_cut", "heating__target_too_low"]


def test_first_sync_carries_the_agents_change_to_the_user(scenarios: Sequence[Scenario]) -> None:
    dual = DualState.for_scenario(named(scenarios, "supply_cut"))
    assert dual.side(Side.USER).database["supply_on"] is False
    assert not dual.sync()


def test_sync_after_a_write_gives_a_delta_that_a_bot_can_apply(scenarios: Sequence[Scenario]) -> None:
    dual = DualState.for_scenario(named(scenarios, "supply_cut"))
    bot = dual.side(Side.USER).copy()
    outcome = dual.invoke(Side.AGENT, "restore_supply", {"account_id": "H7"})
    deltas = dual.sync()
    SYNC_RULES.get("heating", RULES_NAME).apply(bot, deltas.user)
    assert outcome.is_recorded
    assert deltas.user == {"supply_on": True}
    assert bot.digest() == dual.side(Side.USER).digest()


@pytest.mark.parametrize("task_id", ["supply_cut", "target_too_low"])
def test_reference_solves_what_doing_nothing_leaves(scenarios: Sequence[Scenario], task_id: str) -> None:
    scenario = named(scenarios, task_id)
    assert not is_heating(DualState.for_scenario(scenario))
    assert is_heating(replay_reference(scenario).state)


def test_broken_reference_is_an_error_not_an_easier_task(scenarios: Sequence[Scenario]) -> None:
    scenario = named(scenarios, "supply_cut")
    step = scenario.reference_actions[0].model_copy(update={"arguments": {"account_id": "H8"}})
    with pytest.raises(ScenarioError, match="There is no account H8"):
        replay_reference(scenario.model_copy(update={"reference_actions": (step,)}))


def test_every_request_in_the_phrasebook_is_a_tool_of_the_user(scenarios: Sequence[Scenario]) -> None:
    book = PHRASEBOOKS.get("heating", RULES_NAME)
    tools = scenarios[0].user.resources.tools
    assert {request.tool for request in book.requests} <= tools.keys()


def test_guide_shows_the_code_of_the_toy_domain() -> None:
    blocks = re.findall(r"```(?:python|json)\n# tests/toy_domain/(\S+)\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)
    assert len(blocks) >= 6
    for path, text in blocks:
        assert text.strip() in (TOY / path).read_text("utf-8"), path


def test_guide_names_only_what_the_public_modules_have() -> None:
    rows = re.findall(r"^\| (`duologue\.[^|]+) \| ([^|]+) \|$", GUIDE.read_text("utf-8"), re.MULTILINE)
    assert len(rows) >= 8
    for modules, names in rows:
        loaded = [importlib.import_module(module) for module in re.findall(r"`(duologue[\w.]+)`", modules)]
        for name in re.findall(r"`(\w+)`", names):
            assert any(hasattr(module, name) for module in loaded), (modules, name)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "passed", "failed"),
    [("", 2, 0), (" --agent do_nothing", 0, 2), (" --agent wrong_action --mutation drop", 0, 2)],
)
def test_commands_of_the_guide_do_what_it_says(options: str, passed: int, failed: int) -> None:
    command = f"python run_evaluation.py text --domain heating{options}"
    assert f"\n{command}\n" in GUIDE.read_text("utf-8")
    done = subprocess.run(
        [sys.executable, *command.split()[1:]],
        env={**os.environ, "DUOLOGUE_DOMAINS": str(TOY)},
        cwd=GUIDE.parents[1],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert f"{passed} passed, {failed} failed" in done.stdout, done.stderr
