import importlib.util
import re
from pathlib import Path

import pytest

from duologue.cli.evaluate import main
from duologue.cli.options import EXIT_USAGE
from duologue.cli.talk import build_talk_parser

ROOT = Path(__file__).parents[2]
NAME = "tau2_telecom__service_issue__airplane_mode_on__unseat_sim_card"


def test_every_flag_is_described_on_its_page() -> None:
    page = (ROOT / "docs" / "talk.md").read_text(encoding="utf-8")
    flags = {flag for action in build_talk_parser()._actions for flag in action.option_strings if flag.startswith("--")}
    assert {flag for flag in flags - {"--help"} if f"`{flag}" not in page} == set()
    assert set(re.findall(r"`(--[a-z-]+)", page)) - {"--list"} <= flags


def test_missing_aiortc_is_named_with_its_remedy(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "aiortc" else object())
    assert main(["talk", "--scenario", NAME, "--as", "user"]) == EXIT_USAGE
    assert "pip install 'duologue[webrtc]'" in capsys.readouterr().err


needs_aiortc = pytest.mark.skipif(importlib.util.find_spec("aiortc") is None, reason="extra webrtc is not installed")


@needs_aiortc
def test_unknown_scenario_is_named_with_the_near_ones(capsys: pytest.CaptureFixture) -> None:
    assert main(["talk", "--scenario", NAME[:-1], "--as", "user"]) == EXIT_USAGE
    assert f"did you mean {NAME}" in capsys.readouterr().err


@needs_aiortc
def test_open_interface_without_a_token_is_refused_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.delenv("DUOLOGUE_TOKEN", raising=False)
    flags = ["--host", "0.0.0.0", "--output-dir", str(tmp_path / "out")]
    assert main(["talk", "--scenario", NAME, "--as", "user", "--launch", *flags]) == EXIT_USAGE
    assert "--host 0.0.0.0 is reachable from other machines" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("argv", [[], ["--scenario", NAME], ["--scenario", NAME, "--as", "judge"]])
def test_scenario_and_side_are_needed(argv: list[str], capsys: pytest.CaptureFixture) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["talk", *argv])
    assert stopped.value.code == 2
    assert "usage: run_evaluation.py talk" in capsys.readouterr().err
