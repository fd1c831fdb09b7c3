import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from duologue.errors import ConfigError
from duologue.records.redaction import redact_url
from duologue.runner.folders import create_run_dir, folder_names, redact_argv, redact_values, write_run_args

STARTED = datetime(2025, 2, 25, 12, 8, 30, tzinfo=UTC)


def test_run_directory_is_named_after_the_start(tmp_path: Path) -> None:
    assert create_run_dir(tmp_path / "new", STARTED) == tmp_path / "new" / "eval_20250225_120830"


def test_two_runs_in_one_second_get_two_directories(tmp_path: Path) -> None:
    create_run_dir(tmp_path, STARTED)
    assert create_run_dir(tmp_path, STARTED).name == "eval_20250225_120830_2"


@pytest.mark.parametrize("place", ["file", "file/below", "dangling", "dangling/below", "/proc/nowhere"])
def test_output_dir_that_cannot_be_is_refused_by_its_flag(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    with pytest.raises(ConfigError, match=r"--output-dir .*no run can be written there"):
        create_run_dir(tmp_path / place, STARTED)


def test_folder_is_the_scenario_name() -> None:
    name = "tau2_telecom__mms_issue__" + "x" * 200
    assert folder_names([name]) == [name]


def test_names_that_no_file_system_takes_are_replaced_and_stay_apart() -> None:
    assert folder_names(["a__b/c", "a__b:c", "A__b_c", "../x"]) == ["a__b_c", "a__b_c_2", "A__b_c_3", "_x"]


def test_secrets_of_the_command_line_are_redacted() -> None:
    argv = ["--auth-token", "s1", "--judge-api-key=s2", "--judge-api-key-name", "KEY", "--judge-max-tokens", "5"]
    shown = redact_argv([*argv, "--agent-url", "ws://u:s3@host/?token=s4"])
    assert not any(secret in " ".join(shown) for secret in ("s1", "s2", "s3", "s4"))
    assert shown[3:7] == ["--judge-api-key-name", "KEY", "--judge-max-tokens", "5"]


@pytest.mark.parametrize(
    "url",
    [
        *("ws://h:1/?token=S3", "ws://h/?a=1&TOKEN=S3&b=2", "ws://h/?access_token=S3#x", "wss://h/?api-key=S3"),
        *("https://h/?apikey=S3", "https://h/?client_secret=S3", "ws://u:S3@h/", "ws://S3@h:1", "x ws://u:S3@h/ y"),
    ],
)
def test_every_secret_of_an_address_is_redacted(url: str) -> None:
    assert "S3" not in redact_url(url)
    assert "<redacted>" in redact_url(url)


def test_address_without_a_secret_stays_as_it_is() -> None:
    for url in ("ws://localhost:8765", "ws://h/?tokens=3&monkey", "https://h/v1?model=key"):
        assert redact_url(url) == url


def test_empty_secret_is_shown_as_empty() -> None:
    assert redact_values({"auth_token": None, "judge_api_key": "x"}) == {
        "auth_token": None,
        "judge_api_key": "<redacted>",
    }


def test_run_args_hold_the_invocation_without_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUOLOGUE_TOKEN", "hush-hush")
    parsed = {"auth_token": "hush-hush", "output_dir": Path("out"), "limit": 2}
    write_run_args(tmp_path, started=STARTED, argv=["--auth-token", "hush-hush"], parsed=parsed, names=["a__b"])
    text = (tmp_path / "run_args.json").read_text(encoding="utf-8")
    (invocation,) = json.loads(text)["invocations"]
    assert "hush-hush" not in text
    assert invocation["started_at"] == "2025-02-25T12:08:30+00:00"
    assert (invocation["resolved_scenario_count"], invocation["resolved_scenario_names"]) == (1, ["a__b"])
    assert invocation["parsed_args"] == {"auth_token": "<redacted>", "output_dir": "out", "limit": 2}
