"""Tasks follow from atomic issues."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from duologue.errors import FixtureError
from duologue.registry import load_domain
from duologue.state import fixtures

load_domain("tau2_telecom")

from scenarios.tau2_telecom.composition import (  # noqa: E402  (the domain is loaded first)
    Issue,
    Step,
    TelecomTask,
    compose_all,
    compose_task,
    load_families,
    load_record,
    selections,
)


def plain(step: Any, name: str = "func_name") -> tuple[str, str, dict[str, Any]]:
    return (step.side.value, getattr(step, name), step.arguments)


@pytest.fixture(scope="module")
def composed() -> dict[str, TelecomTask]:
    return {task.task_id: task for task in compose_all()}


@pytest.fixture(scope="module")
def pairs(composed: dict[str, TelecomTask], recorded: dict[str, Any]) -> list[tuple[TelecomTask, dict[str, Any]]]:
    assert len(recorded["tasks"]) == 114
    return [(composed[record["id"]], record) for record in recorded["tasks"]]


def test_full_holds_2285_tasks_family_by_family() -> None:
    assert list(Counter(task.family for task in compose_all()).items()) == [
        ("mobile_data_issue", 254),
        ("service_issue", 47),
        ("mms_issue", 1984),
    ]


def test_task_ids_are_unique(composed: dict[str, TelecomTask]) -> None:
    assert len(composed) == 2285


def test_order_inside_a_family_is_by_number_of_issues() -> None:
    sizes = [len(task.issues) for task in compose_all() if task.family == "mms_issue"]
    assert sizes == sorted(sizes)


def test_single_issue_tasks_come_in_enumeration_order() -> None:
    singles = [task.task_id for task in compose_all() if len(task.issues) == 1]
    assert len(singles) == 20
    assert singles[:3] == [
        "[mobile_data_issue]user_abroad_roaming_enabled_off[PERSONA:None]",
        "[mobile_data_issue]user_abroad_roaming_disabled_on[PERSONA:Easy]",
        "[mobile_data_issue]user_abroad_roaming_disabled_off[PERSONA:Hard]",
    ]


def test_airplane_mode_alone_is_a_service_problem_only() -> None:
    offered = {name: set(selections(family)) for name, family in load_families().families.items()}
    assert [name for name, chosen in offered.items() if ("airplane_mode_on",) in chosen] == ["service_issue"]


def test_persona_rotation_counts_unpublished_tasks() -> None:
    family = load_families().families["mobile_data_issue"]
    places = list(selections(family))
    issues = ("data_usage_exceeded", "user_abroad_roaming_enabled_off")
    task = next(task for task in compose_all() if task.issues == issues and task.family == "mobile_data_issue")
    assert task.persona == ("None", "Easy", "Hard")[places.index(issues) % 3]


def test_no_published_task_has_run_out_of_refuelling() -> None:
    assert not [task for task in compose_all() if "data_usage_exceeded_no_refuel" in task.issues]


def test_one_unfixable_issue_makes_the_whole_task_a_transfer() -> None:
    task = compose_task("service_issue", ("airplane_mode_on", "lock_sim_card_pin"), "Easy")
    (action,) = task.reference_actions
    assert (action.action_id, action.arguments, action.compare_args) == (
        "transfer_to_human_agents",
        {"summary": "*"},
        (),
    )
    assert task.reward_basis == ("ENV_ASSERTION", "ACTION")


def test_initialization_equals_the_record(pairs: list[tuple[TelecomTask, dict[str, Any]]]) -> None:
    for task, record in pairs:
        expected = [(step["side"], step["func"], step["args"]) for step in record["init_actions"]]
        assert [plain(step) for step in task.initialization_actions] == expected, record["id"]


def test_reference_actions_equal_the_record(pairs: list[tuple[TelecomTask, dict[str, Any]]]) -> None:
    for task, record in pairs:
        found = [(step.action_id, *plain(step, "name"), step.compare_args) for step in task.reference_actions]
        expected = [
            (step["id"], step["side"], step["name"], step["args"], _compare(step["compare_args"]))
            for step in record["expected_actions"]
        ]
        assert found == expected, record["id"]


def _compare(names: list[str] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(names)


def test_assertions_equal_the_record(pairs: list[tuple[TelecomTask, dict[str, Any]]]) -> None:
    for task, record in pairs:
        expected = [(step["side"], step["func"], step["args"], step["assert_value"]) for step in record["assertions"]]
        assert [(*plain(check), check.assert_value) for check in task.assertions] == expected, record["id"]


def test_remaining_fields_equal_the_record(pairs: list[tuple[TelecomTask, dict[str, Any]]]) -> None:
    for task, record in pairs:
        found = [task.family, list(task.issues), task.persona, list(task.reward_basis), task.is_abroad, task.refuel_gb]
        expected = [record[key] for key in ("family", "issues", "persona", "reward_basis")]
        assert found == [*expected, record["user"]["abroad"], record["user"]["refuel_needed_gb"]], record["id"]


def test_malformed_data_file_is_named_with_its_key(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tau2_telecom").mkdir()
    (tmp_path / "tau2_telecom" / "issues.json").write_text('{"bad_vpn": {"init": [{"side": "nobody"}], "fix": null}}')
    monkeypatch.setenv("EVAL_DATA_ROOT", str(tmp_path))
    with pytest.raises(FixtureError, match=r"issues\.json: bad_vpn\.init\.0\.side"):
        load_record("issues.json", dict[str, Issue])
    assert fixtures.data_roots() == [tmp_path]


def test_step_rejects_unknown_keys() -> None:
    with pytest.raises(ValueError, match="sid"):
        Step.model_validate({"sid": "user", "name": "reboot_device"})
