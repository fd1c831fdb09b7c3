import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from duologue.cli.evaluate import exit_code, main
from duologue.records.outcome import Cause, Outcome, OutcomeKind
from duologue.records.result import ScenarioResult

ROOT = Path(__file__).parents[2]
SCENARIO = "tau2_telecom__service_issue__airplane_mode_on__unseat_sim_card"


def result(kind: OutcomeKind, cause: Cause | None = None) -> ScenarioResult:
    return ScenarioResult(
        run_id="r",
        attempt=1,
        seed=0,
        scenario="shop__x",
        domain="shop",
        prefix="shop",
        family="",
        profile="default",
        scored_as="duologue",
        outcome=Outcome(kind=kind, cause=cause),
    )


def command(*argv: str) -> list[str]:
    return [sys.executable, str(ROOT / "run_evaluation.py"), *argv]


@pytest.mark.slow
def test_full_disk_is_reported_without_a_traceback(tmp_path: Path) -> None:
    def fill_disk() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    argv = command("--scenarios", SCENARIO, "--output-dir", str(tmp_path / "results"))
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False, preexec_fn=fill_disk)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith("File too large")
    assert "Traceback" not in done.stderr


def test_ctrl_c_while_the_program_is_still_loading_ends_it_quietly(tmp_path: Path) -> None:
    argv = [sys.executable, "-X", "importtime", str(ROOT / "run_evaluation.py"), "--list-domains"]
    with subprocess.Popen(argv, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        while "duologue.errors" not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert "Traceback" not in process.stderr.read()
    assert process.returncode == 130


@pytest.mark.slow
@pytest.mark.socket
def test_terminal_of_another_encoding_and_width_is_no_obstacle(tmp_path: Path) -> None:
    def start(encoding: str) -> subprocess.Popen[str]:
        out = ["--output-dir", str(tmp_path / encoding)]
        argv = command("--scenarios", SCENARIO, *out, "--agent-url", "ws://127.0.0.1:1")
        env = {**os.environ, "PYTHONIOENCODING": encoding, "COLUMNS": "20", "TERM": "dumb"}
        return subprocess.Popen(
            argv, cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding=encoding
        )

    with start("ascii") as narrow, start("latin-1") as wide:  # each waits for bots that may still be loading
        for process in (narrow, wide):
            out, err = process.communicate(timeout=60)
            assert process.returncode == 1
            assert "1 scenario \\u2192 " in out
            assert "cannot reach the agent bot at ws://127.0.0.1:1" in err


def test_domains_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list-domains"]) == 0
    assert {"tau2_telecom 114", "tau2_telecom_workflow 114"} <= set(capsys.readouterr().out.splitlines())


def test_listing_a_domain_lists_no_other(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list", "--domain", "tau2_telecom_workflow"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 114
    assert all(line.startswith("tau2_telecom_workflow__") for line in lines)


def test_unknown_scenario_is_code_1_with_near_matches(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--scenarios", SCENARIO.replace("unseat", "unset")]) == 1
    assert f"did you mean {SCENARIO}" in capsys.readouterr().err


def test_bad_value_is_code_2_and_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--judge-threshold", "2", "--output-dir", str(tmp_path)]) == 2
    assert "--judge-threshold" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_bot_that_cannot_start_is_code_1_with_its_own_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    config = tmp_path / "agent.yaml"
    config.write_text("server:\n  name: agent\n  prot: 1\n", encoding="utf-8")
    out = ["--output-dir", str(tmp_path / "out")]
    assert main(["--launch", "--agent-config", str(config), "--scenarios", SCENARIO, *out]) == 1
    error = capsys.readouterr().err
    assert "the agent bot" in error
    assert "prot" in error
    assert list((tmp_path / "out").glob("eval_*/bot_logs/agent.log"))


def test_exit_code_tells_what_was_evaluable() -> None:
    passed, failed = result(OutcomeKind.PASSED), result(OutcomeKind.FAILED)
    assert exit_code([passed, failed]) == 0
    assert exit_code([passed, result(OutcomeKind.NOT_EVALUABLE, Cause.SYNC)]) == 3
    assert exit_code([]) == 1


@pytest.mark.slow
@pytest.mark.socket
def test_run_without_bots_stops_at_once_and_says_what_to_start(tmp_path: Path) -> None:
    urls = ["--agent-url", "ws://127.0.0.1:9", "--user-url", "ws://127.0.0.1:9"]
    done = subprocess.run(
        command("--scenarios", SCENARIO, "--output-dir", str(tmp_path), *urls),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "cannot reach the agent bot at ws://127.0.0.1:9 (connection refused); start the agent bot" in done.stderr
    assert "or pass --user-url" in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.socket
@pytest.mark.speech
def test_launched_call_over_speech_passes_and_names_its_recording(tmp_path: Path) -> None:
    done = subprocess.run(
        command("--launch", "--scenarios", SCENARIO, "--output-dir", str(tmp_path), "-v"),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (run_dir,) = tmp_path.iterdir()
    recording = run_dir / SCENARIO / "conversation_log.wav"
    assert f"recording: {recording}" in done.stdout
    assert recording.stat().st_size > 1_000_000
    assert "agent: Hello" in done.stdout
    metrics = json.loads((run_dir / SCENARIO / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["is_successful"] is True


def launched(out: Path, *more: str) -> subprocess.Popen[str]:
    argv = command("--launch", "--scenarios", SCENARIO, "--output-dir", str(out), "--pace", "wall", "-v", *more)
    return subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def wait_for_greeting(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    next(line for line in process.stdout if "agent: Hello" in line)


def bot_pids(run_dir: Path) -> list[int]:
    log = (run_dir / "evaluation_log.txt").read_text(encoding="utf-8")
    return [int(word.removeprefix("pid=")) for word in log.split() if word.startswith("pid=")]


def ends_soon(pid: int) -> bool:
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)  # noqa: TID251 (the wait for a foreign process is real)
    return False


@pytest.mark.socket
@pytest.mark.speech
def test_interrupt_stops_the_bots_and_leaves_the_run_readable(tmp_path: Path) -> None:
    with launched(tmp_path, "--auth-token", "hush-hush") as process:
        wait_for_greeting(process)
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read() if process.stdout else ""
        assert process.wait(timeout=30) == 130
    assert "not evaluable (harness)" in rest
    (run_dir,) = tmp_path.iterdir()
    assert json.loads((run_dir / "all_metrics.json").read_text(encoding="utf-8"))[0]["scenario_name"] == SCENARIO
    pids = bot_pids(run_dir)
    assert len(pids) == 2
    assert all(ends_soon(pid) for pid in pids)
    written = [path for path in run_dir.rglob("*") if path.is_file()]
    assert not any(b"hush-hush" in path.read_bytes() for path in written)


@pytest.mark.socket
@pytest.mark.speech
def test_bots_end_when_the_run_is_killed(tmp_path: Path) -> None:
    with launched(tmp_path) as process:
        wait_for_greeting(process)
        process.kill()
    (run_dir,) = tmp_path.iterdir()
    pids = bot_pids(run_dir)
    assert len(pids) == 2
    assert all(ends_soon(pid) for pid in pids)
