import os
import subprocess
import sys

import pytest

from duologue.cli.lifeline import follow_lifeline, watch
from duologue.runner.launch import LIFELINE

PROGRAM = "from duologue.cli.lifeline import follow_lifeline; import time; follow_lifeline(); time.sleep(60)"


def test_end_of_the_pipe_is_reported_once() -> None:
    reader, writer = os.pipe()
    seen: list[str] = []
    thread = watch(reader, lambda: seen.append("end"))
    os.write(writer, b"still here")
    os.close(writer)
    thread.join(timeout=5)
    os.close(reader)
    assert seen == ["end"]


def test_process_ends_when_its_launcher_goes() -> None:
    environment = {**os.environ, LIFELINE: "stdin"}
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, env=environment) as process:
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(timeout=20) == -15


def test_without_the_variable_standard_input_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(LIFELINE, raising=False)
    monkeypatch.setattr("duologue.cli.lifeline.watch", lambda *_: pytest.fail("watched"))
    follow_lifeline()
