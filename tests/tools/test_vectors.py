"""The recorded telecom vectors, replayed in place, and that a wrong one is noticed."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from duologue.records.action import Side
from duologue.records.scenario import CatalogueOptions
from duologue.state.canonical import digest
from duologue.testing.replay import load_formats, replay_file, replay_record
from duologue.toolkit.dual_state import DualState, replay_reference
from duologue.toolkit.rules import CATALOGUES, RULES_NAME

FOLDER = Path(__file__).parents[3] / "shared" / "conformance" / "tau2_telecom"
DOMAIN = "tau2_telecom"

needs_vectors = pytest.mark.skipif(not FOLDER.is_dir(), reason="the recorded vectors lie outside this repository")


@pytest.mark.slow
@needs_vectors
@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("tasks.jsonl", 57),
        ("walks_1.jsonl", 100),
        ("walks_2.jsonl", 100),
        ("walks_3.jsonl", 100),
        ("speed_table.json", 100),
    ],
)
def test_recorded_vectors_replay_without_a_difference(name: str, count: int) -> None:
    tally = replay_file(FOLDER / name, load_formats([DOMAIN]))
    assert tally.problems == []
    assert tally.passed == count


@pytest.fixture
def walk() -> dict[str, Any]:
    if not FOLDER.is_dir():
        pytest.skip("the recorded vectors lie outside this repository")
    with (FOLDER / "walks_1.jsonl").open(encoding="utf-8") as lines:
        return dict(json.loads(next(lines)))


def test_a_recorded_walk_agrees(walk: dict[str, Any]) -> None:
    assert replay_record(walk, load_formats([DOMAIN])) == []


@pytest.mark.parametrize("key", ["out", "agent", "user", "derived"])
def test_a_call_that_went_otherwise_is_noticed(walk: dict[str, Any], key: str) -> None:
    wrong = copy.deepcopy(walk)
    step = next(step for step in wrong["calls"] if step["ok"])
    step[key] = "something else"
    assert f"calls[{wrong['calls'].index(step)}]" in replay_record(wrong, load_formats([DOMAIN]))[0]


def test_a_refusal_that_should_be_a_success_is_noticed(walk: dict[str, Any]) -> None:
    step = next(step for step in walk["init"] if not step["ok"])
    step.update(ok=True, out=None)
    assert "stage: '' != 'call'" in replay_record(walk, load_formats([DOMAIN]))[0]


def test_a_wrong_end_is_noticed(walk: dict[str, Any]) -> None:
    walk["final"]["user_db"]["device"]["battery_level"] = 3
    walk["assertions"][0]["result"] = "maybe"
    problems = replay_record(walk, load_formats([DOMAIN]))
    assert any("battery_level: 3 != 80" in problem for problem in problems)
    assert any("assertions[0]" in problem for problem in problems)


@pytest.mark.slow
@needs_vectors
def test_scenarios_in_the_tau2_profile_start_and_end_as_recorded() -> None:
    load_formats([DOMAIN])
    recorded = [json.loads(line) for line in (FOLDER / "tasks.jsonl").read_text(encoding="utf-8").splitlines()]
    loaded = CATALOGUES.get(DOMAIN, RULES_NAME).load(CatalogueOptions(profile="tau2"))
    scenarios = {scenario.task_id: scenario for scenario in loaded}
    for task in recorded:
        scenario = scenarios[task["id"]]
        assert plain_digests(DualState.for_scenario(scenario)) == digests_in(task["after_init"]), task["id"]
        assert plain_digests(replay_reference(scenario).state) == digests_in(task["after_gold"]), task["id"]


def plain_digests(state: DualState) -> list[str]:
    return [digest(state.side(side).db) for side in Side]


def digests_in(recorded: dict[str, Any]) -> list[str]:
    return [recorded[f"{side.value}_digest"] for side in Side]
