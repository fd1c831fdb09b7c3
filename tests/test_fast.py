"""``--fast`` leaves out what is marked, and its guard fails what loads speech or calls away from loopback."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TESTS = """
import contextlib, socket, threading
import pytest

def load():
    import faster_whisper

def test_loads_speech_in_a_thread():
    threading.Thread(target=load).start()

def test_loads_speech_and_catches_what_comes():
    with contextlib.suppress(BaseException):
        load()

def test_calls_away():
    with socket.socket() as line, contextlib.suppress(OSError):
        line.settimeout(0.1)
        line.connect(("192.0.2.1", 9))

def test_calls_a_double():
    with socket.create_server(("127.0.0.1", 0)) as double:
        socket.create_connection(double.getsockname()).close()

@pytest.mark.slow
def test_takes_its_time():
    load()

@pytest.mark.speech
def test_speaks():
    load()
"""


@pytest.mark.slow
def test_fast_run_leaves_out_and_guards(tmp_path: Path) -> None:
    path = tmp_path / "test_some.py"
    path.write_text(TESTS, encoding="utf-8")
    marks = ["-o", "markers=slow\nspeech", "-W", "ignore", "-c", "/dev/null"]
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "--fast", "--color=no", *marks, str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    told = done.stdout
    assert "2 deselected" in told, told + done.stderr
    failed = set(re.findall(r"^(?:ERROR|FAILED) \S*::(\w+)", told, re.MULTILINE))
    assert failed == {"test_loads_speech_in_a_thread", "test_loads_speech_and_catches_what_comes", "test_calls_away"}
    assert "a fast test loads faster_whisper; mark it speech" in told
    assert "a fast test calls 192.0.2.1" in told
