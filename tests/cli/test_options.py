from pathlib import Path

import pytest

from duologue.cli.options import OptionError, build_parser, parse_options
from duologue.records.outcome import Cause


def test_defaults_are_those_of_the_field() -> None:
    options = parse_options([])
    assert (options.run.user_url, options.run.agent_url) == ("ws://localhost:8766", "ws://localhost:8765")
    assert options.run.output_dir == Path("eval_results")
    assert options.run.min_agent_turns == 3
    assert options.run.launch is None
    assert options.parsed["judge_url"] == ""
    assert options.parsed["judge_threshold"] == 0.9


def test_scenarios_and_domain_reach_the_selection() -> None:
    selection = parse_options(["--scenarios", "a__b", "a__c", "--domain", "a", "--limit", "2"]).selection
    assert (selection.names, selection.prefix, selection.limit) == (("a__b", "a__c"), "a", 2)


def test_prefix_may_be_given_with_its_underscores() -> None:
    assert parse_options(["--domain", "tau2_telecom__"]).selection.prefix == "tau2_telecom"


def test_compat_can_be_given_twice() -> None:
    options = parse_options(["--compat", "tau2", "--compat", "reference", "--compat", "tau2"])
    assert options.run.compat == options.selection.compat == ("tau2", "reference")


def test_rerun_goes_with_the_other_flags_and_causes_can_be_given_twice() -> None:
    causes = ["--cause", "sync", "--cause", "user_sim", "--cause", "sync"]
    options = parse_options(["--rerun", "eval_1", *causes, "--launch", "--seed", "3"])
    assert (options.rerun, options.causes) == (Path("eval_1"), (Cause.SYNC, Cause.USER_SIM))
    assert options.run.launch is not None
    assert parse_options([]).rerun is None


def test_launch_takes_the_two_configurations() -> None:
    launch = parse_options(["--launch", "--agent-config", "mine.yaml"]).run.launch
    assert launch is not None
    assert (launch.agent_config, launch.user_config) == (Path("mine.yaml"), Path("server_configs/user.yaml"))


def test_token_comes_from_the_flag_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUOLOGUE_TOKEN", "environment")
    assert parse_options([]).run.token == "environment"
    assert parse_options(["--auth-token", "flag"]).run.token == "flag"


@pytest.mark.parametrize(
    "argv",
    [
        ["--judge-threshold", "1.5"],
        ["--judge-threshold", "nan"],
        ["--judge-timeout", "0"],
        ["--judge-timeout", "inf"],
        ["--judge-max-tokens", "0"],
        ["--judge-thinking-token-budget", "-1"],
        ["--judge-url", "localhost:8000/v1"],
        ["--judge-attempts", "0"],
        ["--limit", "0"],
        *(["--duration", value] for value in ("-3", "0", "nan", "inf", "1e308", "90000", "1 h", "")),
        *(["--pause", value] for value in ("-1", "inf", "1e300")),
        ["--pace", "slow"],
        ["--compat", "nothing"],
        ["--cause", "weather"],
        ["--audio-chunk-in-seconds", "0.016"],
        ["--output-sample-rate", "24000"],
        *(
            ["--agent-url", url]
            for url in ("localhost:8765", "ws://", "ws://:8765", "ws://[::1", "ws://h:99999", "ws://h:x", "ws://h:0")
        ),
        ["--domain", ""],
        ["--domain", "__"],
    ],
)
def test_bad_value_is_exit_code_2_and_names_the_flag(argv: list[str]) -> None:
    with pytest.raises(OptionError, match=argv[0]) as caught:
        parse_options(argv)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--scenario", "x"], "unrecognized"),
        (["word"], "unrecognized"),
        (["--resume", "20250101_000000"], "--resume: not available"),
        (["--demo", "--domain", "a"], "--demo is a fixed list"),
        (["--cause", "sync"], "--cause narrows --rerun"),
        (["--rerun", "r", "--scenarios", "a__b", "--suite", "x"], "leave out --scenarios, --suite"),
        (["--rerun", "r", "--domain", "a"], "leave out --domain"),
        (["--rerun", "r", "--demo", "--trials", "2"], "leave out --demo, --trials"),
    ],
)
def test_unusable_command_line_is_exit_code_1(argv: list[str], words: str) -> None:
    with pytest.raises(OptionError, match=words) as caught:
        parse_options(argv)
    assert caught.value.exit_code == 1


def test_help_is_grouped_and_lists_exit_codes() -> None:
    text = build_parser().format_help()
    for heading in ("which scenarios", "the two bots", "the call", "scoring", "output", "judge", "exit codes"):
        assert f"\n{heading}" in text


def test_version_ends_with_code_0(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        parse_options(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out.startswith("duologue 0.")


def test_real_time_takes_other_frames_and_limits() -> None:
    limits = ["--jitter-ms", "40", "--max-lag-ms", "500"]
    run = parse_options(["--bot-protocol", "realtime", "--audio-chunk-in-seconds", "0.016", *limits]).run
    assert (run.bot_protocol, run.realtime.frame_ms) == ("realtime", 16)
    assert (run.realtime.jitter_ms, run.realtime.max_lag_ms) == (40, 500)
    assert run.header()["bot_protocol"] == "realtime"
    assert "bot_protocol" not in parse_options([]).run.header()


def test_a_frame_of_part_of_a_millisecond_is_refused() -> None:
    with pytest.raises(OptionError, match="whole number of milliseconds"):
        parse_options(["--bot-protocol", "realtime", "--audio-chunk-in-seconds", "0.0165"])
