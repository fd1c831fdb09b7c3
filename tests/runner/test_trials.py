"""Repetitions, suites and the flags that domains bring along."""

from pathlib import Path

import pytest

from duologue.cli.options import OptionError, parse_options
from duologue.errors import ConfigError
from duologue.records.action import Side
from duologue.records.caller import FrozenUtterance, LiveCaller, RecordedCaller
from duologue.records.scenario import Scenario, SideSpec, SignalName
from duologue.runner.batch import Batch
from duologue.runner.build import apply_run_settings, build_scenarios, needed_bots
from duologue.runner.selection import select_scenarios
from duologue.runner.settings import RunSettings, Selection


def scenario(name: str, suite: str = "", *, is_recorded: bool = False) -> Scenario:
    side = SideSpec(prompt="Say hello.")
    return Scenario(
        name=f"shop__{name}",
        domain="shop",
        task_id=name,
        user=side,
        agent=side,
        success_signals=(SignalName.CLEAN_EXIT,),
        labels={"suite": suite} if suite else {},
        caller=RecordedCaller(utterances=(FrozenUtterance(text="Hello."),)) if is_recorded else LiveCaller(),
    )


SUITES = [scenario(name, suite) for name, suite in [("a1", "a"), ("a2", "a"), ("a3", "a"), ("b1", "b"), ("b2", "b")]]


def names(**choice: object) -> list[str]:
    return [chosen.task_id for chosen in select_scenarios(SUITES, **choice)]  # type: ignore[arg-type]


def test_every_scenario_is_run_before_any_is_repeated(tmp_path: Path) -> None:
    batch = Batch.plan(SUITES[:2], tmp_path, seed=5, trials=3)
    plan = [(attempt.scenario.task_id, attempt.number, attempt.seed) for attempt in batch.attempts]
    assert plan == [("a1", 1, 5), ("a2", 1, 5), ("a1", 2, 6), ("a2", 2, 6), ("a1", 3, 7), ("a2", 3, 7)]


def test_trials_have_folders_and_epochs_of_their_own(tmp_path: Path) -> None:
    attempts = Batch.plan(SUITES[:1], tmp_path, trials=3).attempts
    assert [attempt.folder.name for attempt in attempts] == ["shop__a1", "shop__a1__trial_2", "shop__a1__trial_3"]
    assert len({attempt.epoch for attempt in attempts}) == 3


def test_limit_takes_the_suites_in_turn_and_keeps_their_order() -> None:
    assert names(limit=3) == ["a1", "a2", "b1"]
    assert names(limit=4) == ["a1", "a2", "b1", "b2"]
    assert names(limit=1) == ["a1"]
    assert names(limit=9) == ["a1", "a2", "a3", "b1", "b2"]


def test_suite_keeps_its_own_scenarios_and_its_first_ones() -> None:
    assert names(suite="b") == ["b1", "b2"]
    assert names(suite="a", limit=2) == ["a1", "a2"]


def test_limit_without_suites_keeps_the_first() -> None:
    mixed = [scenario("x"), *SUITES]
    assert [chosen.task_id for chosen in select_scenarios(mixed, limit=3)] == ["x", "a1", "a2"]


def test_unknown_suite_names_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="--suite doubles: domain voiceagentbench has single, parallel"):
        build_scenarios(Selection(prefix="voiceagentbench", suite="doubles"))


def test_domain_without_suites_refuses_one() -> None:
    with pytest.raises(ConfigError, match="--suite single: domain tau2_telecom has all"):
        build_scenarios(Selection(prefix="tau2_telecom", suite="single"))


@pytest.mark.parametrize(("domain", "flag"), [("tau2_telecom", "vab-mapping"), ("voiceagentbench", "tau2-data")])
def test_flag_of_another_domain_is_refused(domain: str, flag: str) -> None:
    with pytest.raises(ConfigError, match=f"--{flag}: domain {domain} has no such option"):
        build_scenarios(Selection(prefix=domain, extra={flag: "full"}))


def test_rule_profile_of_another_domain_is_refused() -> None:
    with pytest.raises(ConfigError, match="--compat tau2: domain voiceagentbench has only default"):
        build_scenarios(Selection(prefix="voiceagentbench", compat=("tau2",)))


@pytest.mark.parametrize("flag", ["--tau2-data", "--vab-data"])
def test_empty_place_of_a_copy_is_refused_and_not_read_as_none(flag: str) -> None:
    with pytest.raises(OptionError, match=rf"{flag}: the value is empty") as caught:
        parse_options([flag, ""])
    assert caught.value.exit_code == 2


def test_flags_of_domains_are_flags_of_the_program(capsys: pytest.CaptureFixture[str]) -> None:
    options = parse_options(["--vab-mapping", "full", "--suite", "safety", "--trials", "4"])
    assert options.selection.extra == {"vab-mapping": "full"}
    assert (options.selection.suite, options.run.trials) == ("safety", 4)
    with pytest.raises(OptionError, match="--vab-mapping") as caught:
        parse_options(["--vab-mapping", "none"])
    assert caught.value.exit_code == 2
    with pytest.raises(SystemExit):
        parse_options(["--help"])
    shown = capsys.readouterr().out
    assert "--vab-mapping {compat,full}" in shown
    assert "--tau2-data PATH" in shown
    assert "--compat {reference,tau2}" in shown


@pytest.mark.parametrize("flags", [["--trials", "0"], ["--caller-gap", "-1"], ["--dispatch", "never"]])
def test_bad_values_are_code_2(flags: list[str]) -> None:
    with pytest.raises(OptionError) as caught:
        parse_options(flags)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    "flags", [["--adapter", "eliza", "--launch"], ["--no-judge", "--judge-url", "http://localhost:1/v1"]]
)
def test_flags_that_contradict_each_other_are_refused(flags: list[str]) -> None:
    with pytest.raises(OptionError) as caught:
        parse_options(flags)
    assert caught.value.exit_code == 1


def test_recorded_callers_need_no_user_bot() -> None:
    recorded, live = scenario("x", is_recorded=True), scenario("y")
    assert needed_bots([recorded]) == (Side.AGENT,)
    assert needed_bots([recorded, live]) == (Side.AGENT, Side.USER)


def test_one_shot_leaves_one_turn_with_tool_calls() -> None:
    (once,) = apply_run_settings([scenario("x")], RunSettings(is_one_shot=True))
    (loop,) = apply_run_settings([scenario("x")], RunSettings())
    assert (once.max_tool_turns, loop.max_tool_turns) == (1, None)
