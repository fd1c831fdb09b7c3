"""Runs whose callers are recordings, from the command line to the report."""

import json
from pathlib import Path
from typing import Any

import pytest

from duologue.cli.evaluate import main
from duologue.turn_agents.turn import MessageTurn

ROOT = Path(__file__).parents[2]
DOMAIN = "voiceagentbench"
SCENARIOS = [f"{DOMAIN}__single__vab-ex-single-01", f"{DOMAIN}__safety__vab-ex-safety-01"]
DIALOGUE = f"{DOMAIN}__multi-turn__vab-ex-multiturn-01"


@pytest.fixture(autouse=True)
def at_the_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    for name in ("CEREBRAS_API_KEY", "CEREBRAS_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.socket
@pytest.mark.speech
def test_launch_starts_the_agent_alone_and_the_report_is_written_and_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = ["--launch", "--scenarios", *SCENARIOS, "--trials", "2", "--output-dir", str(tmp_path), "--quiet"]
    assert main(argv) == 0
    (run_dir,) = tmp_path.iterdir()
    assert [path.name for path in (run_dir / "bot_logs").iterdir()] == ["agent.log"]
    (report,) = run_dir.glob(f"{DOMAIN}_reference_all_*.json")
    tasks = json.loads(report.read_text(encoding="utf-8"))["tasks"]
    assert [(task["seed"], task["total_score"]) for task in tasks] == [(0, 1.0), (0, 1.0), (1, 1.0), (1, 1.0)]
    out = capsys.readouterr().out
    summary = json.loads(out[out.index("{") :])
    assert (summary["pass_at_1"], summary["pass_at_k"]["2"], summary["tasks_run"]) == (1.0, 1.0, 4)
    assert (run_dir / f"{SCENARIOS[0]}__trial_2" / "conversation_log.wav").is_file()


def test_missing_key_of_a_judge_that_is_due_stops_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--scenarios", DIALOGUE, "--output-dir", str(tmp_path)]) == 1
    error = capsys.readouterr().err
    assert DIALOGUE in error
    for remedy in ("--judge-url", "CEREBRAS_API_KEY", "--no-judge"):
        assert remedy in error
    assert list(tmp_path.iterdir()) == []


def test_judge_of_the_environment_is_probed_before_any_call(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CEREBRAS_API_KEY", "secret-key")
    monkeypatch.setenv("CEREBRAS_BASE_URL", "http://127.0.0.1:1/v1")
    assert main(["--scenarios", DIALOGUE, "--output-dir", str(tmp_path), "--judge-attempts", "1"]) == 1
    error = capsys.readouterr().err
    assert "http://127.0.0.1:1/v1/chat/completions" in error
    assert "secret-key" not in error
    assert not list(tmp_path.glob("eval_*"))


def test_turn_agents_refuse_callers_that_are_bots(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["--adapter", "eliza", "--domain", "tau2_telecom", "--limit", "1", "--output-dir", str(tmp_path)]
    assert main(argv) == 1
    assert "turn agents hear recorded callers only" in capsys.readouterr().err


@pytest.mark.speech
def test_turn_agent_that_nothing_answers_for_is_an_error_that_names_the_address(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ELIZA_WAIT_TIMEOUT", "0.1")
    argv = ["--adapter", "eliza", "--adapter-url", "http://127.0.0.1:1", "--scenarios", SCENARIOS[0], "--no-judge"]
    assert main([*argv, "--output-dir", str(tmp_path)]) == 1
    assert "127.0.0.1:1" in capsys.readouterr().err


class Refuses:
    """A turn agent typed on the base turn: it refuses everything, in words of its own."""

    async def __call__(self, history: list[MessageTurn], tool_manifest: list[dict[str, Any]]) -> MessageTurn:
        return MessageTurn("assistant", f"I cannot do that, although I heard {history[-1].content!r}.")


@pytest.mark.speech
def test_turn_agent_of_ones_own_hears_the_caller_through_a_recogniser(tmp_path: Path) -> None:
    argv = ["--adapter", f"{__name__}:Refuses", "--scenarios", *SCENARIOS, "--output-dir", str(tmp_path), "--quiet"]
    assert main(argv) == 0
    (report,) = tmp_path.rglob(f"{DOMAIN}_*.json")
    found = json.loads(report.read_text(encoding="utf-8"))
    passed = {task["task_id"]: task["passed"] for task in found["tasks"]}
    assert passed == {"vab-ex-single-01": False, "vab-ex-safety-01": True}
    assert found["stt_provider"] == "whisper:bundled"
    assert all("therapy" in task["agent_final_text"] for task in found["tasks"] if task["passed"])
