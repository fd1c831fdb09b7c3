import shutil
from pathlib import Path

import pytest

from duologue.errors import ConfigError, FixtureError, RegistryError, ScenarioError
from duologue.records.action import ReferenceAction, Side
from duologue.runner.build import apply_run_settings, build_scenarios, check_scenarios, demo_names
from duologue.runner.selection import count_by_prefix
from duologue.runner.settings import RunSettings, Selection
from duologue.state.fixtures import load_db

TELECOM = Selection(prefix="tau2_telecom")


def test_every_scenario_is_taken_when_nothing_is_asked_for() -> None:
    counts = count_by_prefix(build_scenarios(Selection()))
    assert (counts["tau2_telecom"], counts["tau2_telecom_workflow"]) == (114, 114)


def test_domain_takes_its_own_prefix_only() -> None:
    scenarios = build_scenarios(TELECOM)
    assert len(scenarios) == 114
    assert all(scenario.name.startswith("tau2_telecom__") for scenario in scenarios)


def test_demo_has_one_of_each_family_and_a_payment() -> None:
    scenarios = build_scenarios(Selection(names=demo_names()))
    assert {scenario.family for scenario in scenarios} == {"service_issue", "mobile_data_issue", "mms_issue"}
    assert len(scenarios) == 4
    assert "make_payment" in {action.name for action in scenarios[-1].reference_actions}


def test_compat_tau2_selects_the_profile() -> None:
    (scenario,) = build_scenarios(Selection(prefix="tau2_telecom", limit=1, compat=("tau2",)))
    assert scenario.profile == "tau2"


def test_unknown_prefix_names_the_near_ones() -> None:
    with pytest.raises(RegistryError, match="did you mean tau2_telecom"):
        build_scenarios(Selection(prefix="tau2_telecon"))


def test_unknown_split_names_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"--split tiny: domain tau2_telecom has base"):
        build_scenarios(Selection(prefix="tau2_telecom", split="tiny"))


def test_missing_upstream_copy_is_a_clear_error() -> None:
    with pytest.raises((ConfigError, FixtureError), match="no-such-folder"):
        build_scenarios(Selection(prefix="tau2_telecom", extra={"tau2-data": "/no-such-folder"}))


def test_run_settings_override_duration_and_strictness() -> None:
    (scenario,) = apply_run_settings(
        build_scenarios(Selection(prefix="tau2_telecom", limit=1)), RunSettings(duration_s=30, strict_match=True)
    )
    assert (scenario.max_duration_s, scenario.disallow_extra_items) == (30, True)


def test_reference_solutions_of_all_scenarios_replay() -> None:
    check_scenarios(build_scenarios(TELECOM))


def test_broken_scenario_is_named_before_anything_runs() -> None:
    (scenario,) = build_scenarios(Selection(prefix="tau2_telecom", limit=1))
    step = ReferenceAction(action_id="a", side=Side.AGENT, name="fly_to_the_moon")
    broken = scenario.model_copy(update={"reference_actions": (step,)})
    with pytest.raises(ScenarioError, match=rf"nothing was run:\n{scenario.name}: .*fly_to_the_moon"):
        check_scenarios([broken])


@pytest.mark.parametrize("side", list(Side))
def test_scenario_whose_database_is_not_whole_is_named_before_anything_runs(side: Side) -> None:
    (scenario,) = build_scenarios(Selection(prefix="tau2_telecom", limit=1))
    db = load_db(str(scenario.side(side).shared_state["db_path"]))
    for part in db.values():
        for entity in part if isinstance(part, list) else [part]:
            entity.pop("status", entity.pop("sim_card_missing", None))
    spec = scenario.side(side).model_copy(update={"shared_state": {"db": db}})
    with pytest.raises(ScenarioError, match=r"nothing was run:\n.*\(KeyError: .*database whole"):
        check_scenarios([scenario.model_copy(update={side.value: spec})])


@pytest.mark.parametrize("name", ["main_policy.md", "tech_support_manual.md"])
def test_policy_that_says_nothing_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    shutil.copytree(Path(__file__).parents[2] / "data", tmp_path / "data")
    (tmp_path / "data" / "tau2_telecom" / name).write_text("")
    monkeypatch.setenv("EVAL_DATA_ROOT", str(tmp_path / "data"))
    with pytest.raises(FixtureError, match=f"{name}: empty"):
        build_scenarios(TELECOM)
