"""Choosing what of a stored run is run again."""

from pathlib import Path

import pytest

from duologue.errors import ConfigError, TraceError
from duologue.records.conditions import CLEAN
from duologue.records.outcome import Cause, Outcome, OutcomeKind
from duologue.records.result import ScenarioResult
from duologue.records.run_layout import trial_folder
from duologue.records.scenario import Scenario, SideSpec, SignalName
from duologue.runner.batch import Batch
from duologue.runner.rerun import check_profiles, load_rerun

LOST = [("shop__b", 1, Cause.USER_SIM), ("shop__b", 3, Cause.SYNC), ("shop__c", 2, Cause.USER_SIM)]


def store(run_dir: Path, name: str, trial: int, outcome: Outcome) -> None:
    result = ScenarioResult(
        run_id="eval_1",
        attempt=trial,
        seed=trial - 1,
        scenario=name,
        domain="shop",
        prefix="shop",
        family="",
        profile="duologue",
        scored_as="duologue",
        outcome=outcome,
    )
    folder = run_dir / trial_folder(name, trial)
    folder.mkdir(parents=True)
    (folder / "result.json").write_text(result.model_dump_json(), encoding="utf-8")


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    found = tmp_path / "eval_1"
    store(found, "shop__a", 1, Outcome(kind=OutcomeKind.PASSED))
    store(found, "shop__b", 2, Outcome(kind=OutcomeKind.FAILED))
    for name, trial, cause in LOST:
        store(found, name, trial, Outcome(kind=OutcomeKind.NOT_EVALUABLE, cause=cause))
    return found


def scenario(name: str, profile: str = "duologue") -> Scenario:
    side = SideSpec(prompt="Say hello.")
    signals = (SignalName.CLEAN_EXIT,)
    return Scenario(
        name=name, domain="shop", task_id=name, user=side, agent=side, success_signals=signals, profile=profile
    )


def test_only_what_was_not_evaluable_is_chosen_with_its_trials(run_dir: Path) -> None:
    rerun = load_rerun(run_dir)
    assert rerun.names == ("shop__b", "shop__c")
    assert rerun.trials == {(name, trial, CLEAN) for name, trial, _ in LOST}


def test_causes_narrow_the_choice(run_dir: Path) -> None:
    assert load_rerun(run_dir, [Cause.SYNC]).trials == {("shop__b", 3, CLEAN)}
    assert load_rerun(run_dir, [Cause.USER_SIM, Cause.SYNC]).trials == load_rerun(run_dir).trials


def test_attempts_are_those_trials_alone_with_the_folders_and_seeds_of_trials(run_dir: Path, tmp_path: Path) -> None:
    rerun = load_rerun(run_dir)
    scenarios = [scenario(name) for name in rerun.names]
    attempts = Batch.plan(scenarios, tmp_path / "eval_2", seed=5, only=rerun.trials).attempts
    planned = [(attempt.folder.name, attempt.number, attempt.seed) for attempt in attempts]
    assert planned == [("shop__b", 1, 5), ("shop__c__trial_2", 2, 6), ("shop__b__trial_3", 3, 7)]


def test_record_names_the_source_and_what_is_repeated(run_dir: Path) -> None:
    record = load_rerun(run_dir).record(["shop__c"])
    assert record == {
        "run_dir": str(run_dir),
        "run_ids": ["eval_1"],
        "attempts": [{"scenario": "shop__c", "attempt": 2, "folder": "shop__c__trial_2", "cause": "user_sim"}],
    }


def test_nothing_to_run_again_is_an_error_that_says_what_there_is(run_dir: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--cause judge; not evaluable were: 1 sync, 2 user_sim"):
        load_rerun(run_dir, [Cause.JUDGE])
    store(tmp_path / "whole", "shop__a", 1, Outcome(kind=OutcomeKind.PASSED))
    with pytest.raises(ConfigError, match="nothing to run again, each of 1 attempts was evaluable"):
        load_rerun(tmp_path / "whole")


def test_unreadable_runs_are_errors_that_name_the_folder(run_dir: Path, tmp_path: Path) -> None:
    (run_dir / "shop__a" / "result.json").write_text("{", encoding="utf-8")
    with pytest.raises(TraceError, match=r"shop__a/result\.json: not a result of this version; .*rescore"):
        load_rerun(run_dir)
    with pytest.raises(TraceError, match="nowhere: no such run directory"):
        load_rerun(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(TraceError, match="empty is not a run directory"):
        load_rerun(tmp_path / "empty")


def test_other_rules_than_those_of_the_stored_run_are_refused(run_dir: Path) -> None:
    rerun = load_rerun(run_dir, [Cause.SYNC])
    check_profiles(rerun, [scenario("shop__b")])
    with pytest.raises(ConfigError, match="with rule profile duologue and would now be run with tau2"):
        check_profiles(rerun, [scenario("shop__b", "tau2")])
