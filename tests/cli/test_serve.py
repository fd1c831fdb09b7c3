import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DO_NOTHING = "server: {name: agent}\nllm: {type: do_nothing}\n"


def bot_server(*args, **env):
    """Start ``python bot_server.py`` in a clean environment."""
    clean = {key: value for key, value in os.environ.items() if key not in ("SERVER_CONFIG_PATH", "WEBSOCKET_PORT")}
    return subprocess.Popen(
        [sys.executable, "bot_server.py", *args],
        cwd=ROOT,
        env={**clean, **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.socket
@pytest.mark.speech
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_bot_says_when_it_is_ready_and_stops_quietly(tmp_path, number):
    config = tmp_path / "bot.yaml"
    config.write_text(DO_NOTHING)
    with bot_server(SERVER_CONFIG_PATH=str(config), WEBSOCKET_PORT="0") as bot:
        line = bot.stdout.readline()
        bot.send_signal(number)
        out, err = bot.communicate(timeout=10)
    assert re.fullmatch(r"ready: agent bot \(do_nothing\) on ws://127\.0\.0\.1:\d+\n", line), err
    assert (bot.returncode, out, err) == (0, "", "")


@pytest.mark.slow
@pytest.mark.socket
def test_a_port_in_use_is_one_line_and_exit_code_1():
    with socket.create_server(("127.0.0.1", 0)) as taken, bot_server("--port", str(taken.getsockname()[1])) as bot:
        out, err = bot.communicate(timeout=30)
    assert bot.returncode == 1
    assert out == ""
    assert re.fullmatch(r"error: server\.port \d+ on 127\.0\.0\.1 is in use; .*--port or WEBSOCKET_PORT\n", err)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("stt: {modell: x}", "stt.modell: unknown key; did you mean 'model'?"),
        ("server: {port: 0}\nstt: {model: /nowhere}", "stt.model: no folder /nowhere; give stt.model one of"),
    ],
)
def test_a_wrong_setting_is_one_line_and_exit_code_1(tmp_path, text, error):
    config = tmp_path / "bot.yaml"
    config.write_text(text)
    with bot_server("--config", str(config)) as bot:
        _, err = bot.communicate(timeout=30)
    assert bot.returncode == 1
    assert error in err
    assert len(err.splitlines()) == 1


def test_a_wrong_option_is_exit_code_2():
    with bot_server("--prot", "1") as bot:
        bot.communicate(timeout=30)
    assert bot.returncode == 2


def test_help_names_the_environment():
    with bot_server("--help") as bot:
        out, _ = bot.communicate(timeout=30)
    assert bot.returncode == 0
    assert "SERVER_CONFIG_PATH" in out
