"""Lines from YAML files, and attempts over them."""

import re
from pathlib import Path

import pytest

from duologue.cli.options import OptionError, parse_options
from duologue.errors import ConfigError
from duologue.records.conditions import CLEAN, ChannelConditions, LineConditions
from duologue.records.outcome import Cause, Outcome, OutcomeKind
from duologue.records.result import ScenarioResult
from duologue.records.scenario import Scenario, SideSpec, SignalName
from duologue.runner.attempt import Attempt
from duologue.runner.batch import Batch
from duologue.runner.folders import folder_names
from duologue.runner.lines import load_line, load_lines
from duologue.runner.rerun import load_rerun

STREET = """
name: street
both:
  noise: {kind: pink, level_dbfs: -40}
  band: {}
  loss: {rate: 0.02}
  delay_ms: 100
"""
FAR = LineConditions.model_validate({"name": "far", "both": {"delay_ms": 200}})
NEAR = LineConditions.model_validate({"name": "near", "to_user": {"gain_db": 3}})


def scenario(name: str, line: LineConditions = CLEAN) -> Scenario:
    side = SideSpec(prompt="Say hello.")
    signals = (SignalName.CLEAN_EXIT,)
    return Scenario(
        name=f"shop__{name}", domain="shop", task_id=name, user=side, agent=side, success_signals=signals, line=line
    )


def written(folder: Path, text: str, name: str = "line.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_line_is_read_from_yaml(tmp_path: Path) -> None:
    line = load_line(written(tmp_path, STREET))
    assert line.to_agent == line.to_user
    assert line.model_dump()["to_agent"]["band"] == {"low_hz": 300.0, "high_hz": 3400.0}


def test_line_of_the_documentation_is_one(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```yaml\n(name: .*?)```", page, re.DOTALL)
    line = load_line(written(tmp_path, block))
    assert all(value for value in line.to_user.model_dump().values())
    assert set(line.to_user.model_dump()) == set(ChannelConditions.model_fields)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the top level must be name, and both or to_agent and to_user"),
        ("- a", "the top level must be name"),
        ("name: [", "not YAML"),
        ("name: a\nname: b", "not YAML .*the key 'name' occurs twice"),
        ("both: {delay_ms: 20}", "name: a line needs one, other than 'clean'"),
        ("name: clean\nboth: {delay_ms: 20}", "name: a line needs one, other than 'clean'"),
        ("name: A b\nboth: {delay_ms: 20}", "name: String should match pattern"),
        ("name: a", "nothing happens on the line 'a'; say what under both, to_agent or to_user"),
        ("name: a\nboth: {delay_ms: 30}", r"both\.delay_ms: Input should be a multiple of 20"),
        ("name: a\nboth: {nose: {level_dbfs: -40}}", r"both\.nose: unknown key; did you mean 'noise'\?"),
        (
            "name: a\nto_user: {noise: {level: -40}}",
            r"to_user\.noise\.level: unknown key; did you mean 'level_dbfs'\?",
        ),
        ("name: a\nto_usr: {delay_ms: 20}", r"to_usr: unknown key; did you mean 'to_user'\?"),
        ("name: a\nquux: 1", "quux: unknown key; known keys: name, to_agent, to_user, both"),
        ("name: a\nto_user: {loss: {rate: 2}}", r"to_user\.loss\.rate: Input should be less than 1"),
        ("name: a\nboth: {band: {low_hz: 3000}}", r"both\.band: high_hz 3400 must be at least 1\.5 times low_hz"),
        ("name: a\nboth: {delay_ms: 20}\nto_user: {}", "leave out either the one or the two"),
    ],
)
def test_file_that_is_no_line_is_refused_with_file_key_and_remedy(tmp_path: Path, text: str, message: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(ConfigError, match=message) as caught:
        load_line(path)
    lines = str(caught.value).splitlines()
    assert all(line.startswith(f"--line {path}: ") for line in lines)
    assert len(set(lines)) == len(lines)


def test_missing_file_is_refused_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.yaml: No such file.*give a YAML file, or clean"):
        load_line(tmp_path / "nowhere.yaml")


def test_flag_takes_files_and_clean_and_each_name_once(tmp_path: Path) -> None:
    one, two = written(tmp_path, STREET), written(tmp_path, STREET, "two.yaml")
    options = parse_options(["--line", "clean", "--line", str(one)])
    assert [line.name for line in options.run.lines] == ["clean", "street"]
    assert parse_options([]).run.lines == ()
    with pytest.raises(ConfigError, match=r"two\.yaml: .*line\.yaml has the name 'street' too; rename one of them"):
        load_lines([str(one), str(two)])
    with pytest.raises(OptionError, match=r"--rerun takes scenarios, trials and lines .*leave out --line"):
        parse_options(["--rerun", str(tmp_path), "--line", "clean"])


def plan(attempts: tuple[Attempt, ...]) -> list[tuple[str, str, int]]:
    return [(attempt.folder.name, attempt.scenario.line.name, attempt.number) for attempt in attempts]


def test_every_scenario_is_run_over_every_line_in_folders_of_its_own(tmp_path: Path) -> None:
    batch = Batch.plan([scenario("a"), scenario("b")], tmp_path, trials=2, lines=[CLEAN, FAR])
    assert plan(batch.attempts) == [
        ("shop__a", "clean", 1),
        ("shop__b", "clean", 1),
        ("shop__a__line_far", "far", 1),
        ("shop__b__line_far", "far", 1),
        ("shop__a__trial_2", "clean", 2),
        ("shop__b__trial_2", "clean", 2),
        ("shop__a__line_far__trial_2", "far", 2),
        ("shop__b__line_far__trial_2", "far", 2),
    ]


def test_scenario_keeps_its_own_line_and_its_folder_until_the_run_says_otherwise(tmp_path: Path) -> None:
    own = scenario("a", NEAR)
    assert plan(Batch.plan([own], tmp_path).attempts) == [("shop__a", "near", 1)]
    over = Batch.plan([own], tmp_path, lines=[CLEAN, NEAR, FAR]).attempts
    assert plan(over) == [("shop__a__line_clean", "clean", 1), ("shop__a", "near", 1), ("shop__a__line_far", "far", 1)]


def test_folder_of_a_long_name_keeps_its_line(tmp_path: Path) -> None:
    names = folder_names(["a__" + "x" * 300] * 2, ["", "far"])
    assert names[1].endswith("__line_far")
    assert all(len(name) <= 230 for name in names)
    assert len(set(names)) == 2


def test_key_of_an_attempt_knows_its_line_and_that_of_a_clean_one_does_not(tmp_path: Path) -> None:
    """The clean keys are those of traces that know nothing of lines."""
    keys = [attempt.epoch for attempt in Batch.plan([scenario("a")], tmp_path, lines=[CLEAN, FAR, NEAR]).attempts]
    assert len(set(keys)) == 3
    assert keys[0] == "e9165afab9d1b537"


def test_stored_scenario_has_its_line_only_when_something_happens_on_it() -> None:
    assert "line" not in scenario("a").model_dump(mode="json")
    stored = scenario("a", FAR).model_dump_json()
    assert Scenario.model_validate_json(stored).line == FAR


def store(run_dir: Path, folder: str, line: LineConditions, kind: OutcomeKind) -> None:
    """Store a result of the scenario that the folder begins with."""
    result = ScenarioResult(
        run_id="eval_1",
        attempt=1,
        seed=0,
        scenario=folder[:7],
        domain="shop",
        prefix="shop",
        family="",
        profile="default",
        scored_as="duologue",
        outcome=Outcome(kind=kind, cause=Cause.TRANSPORT if kind is OutcomeKind.NOT_EVALUABLE else None),
        line=line,
    )
    (run_dir / folder).mkdir(parents=True)
    (run_dir / folder / "result.json").write_text(result.model_dump_json(), encoding="utf-8")


def test_attempts_are_run_again_over_the_line_that_they_had(tmp_path: Path) -> None:
    run_dir = tmp_path / "eval_1"
    store(run_dir, "shop__a", CLEAN, OutcomeKind.PASSED)
    store(run_dir, "shop__a__line_far", FAR, OutcomeKind.NOT_EVALUABLE)
    store(run_dir, "shop__b", CLEAN, OutcomeKind.NOT_EVALUABLE)
    store(run_dir, "shop__b__line_near", NEAR, OutcomeKind.NOT_EVALUABLE)
    rerun = load_rerun(run_dir)
    attempts = Batch.plan([scenario("a"), scenario("b")], tmp_path / "eval_2", only=rerun.trials).attempts
    assert plan(attempts) == [
        ("shop__b", "clean", 1),
        ("shop__a__line_far", "far", 1),
        ("shop__b__line_near", "near", 1),
    ]
    assert [item.get("line") for item in rerun.record(["shop__a", "shop__b"])["attempts"]] == ["far", None, "near"]
