import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from duologue.errors import BotUnavailable, ConfigError
from duologue.records.action import Side
from duologue.runner.launch import LaunchedBot, LaunchedBots, launched_bots
from duologue.runner.settings import LaunchSettings

READY = "print('ready: agent bot (reference) on ws://127.0.0.1:4711', flush=True)"
WAIT = "import sys; sys.stdin.read()"


def bot(folder: Path, program: str, side: Side = Side.AGENT) -> LaunchedBot:
    return LaunchedBot(side, folder / "bot.yaml", folder / f"{side}.log", command=(sys.executable, "-c", program))


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "zombie" not in Path(f"/proc/{pid}/status").read_text(encoding="utf-8")


async def test_ready_bot_is_stopped_at_the_end(tmp_path: Path) -> None:
    launched = bot(tmp_path, f"{READY}\n{WAIT}")
    await launched.start()
    await launched.wait_ready(20)
    assert launched.is_alive
    await launched.stop()
    assert launched.url == "ws://127.0.0.1:4711"
    assert "ready: agent bot" in (tmp_path / "agent.log").read_text(encoding="utf-8")


async def test_bot_that_dies_early_is_reported_with_its_last_lines(tmp_path: Path) -> None:
    launched = bot(tmp_path, "import sys; print('stt.model: no such folder'); sys.exit(7)")
    await launched.start()
    with pytest.raises(BotUnavailable, match=r"(?s)agent bot .* ended with code 7 .*stt.model: no such folder"):
        await launched.wait_ready(20)
    await launched.stop()


async def test_silent_bot_is_given_up_after_the_bound(tmp_path: Path) -> None:
    launched = bot(tmp_path, WAIT)
    await launched.start()
    with pytest.raises(BotUnavailable, match=r"not ready within 0.3 s"):
        await launched.wait_ready(0.3)
    await launched.stop()


async def test_bot_that_ignores_the_polite_signal_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("duologue.runner.launch._STOP_S", 0.2)
    launched = bot(tmp_path, f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n{READY}\n{WAIT}\n{WAIT}")
    await launched.start()
    await launched.wait_ready(20)
    await launched.stop()
    assert not launched.is_alive


async def test_children_of_a_bot_end_with_it(tmp_path: Path) -> None:
    child = "import subprocess, sys; c = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])"
    launched = bot(tmp_path, f"{child}\nprint('child', c.pid, flush=True)\n{READY}\n{WAIT}")
    await launched.start()
    await launched.wait_ready(20)
    await launched.stop()
    pid = int((tmp_path / "agent.log").read_text(encoding="utf-8").split()[1])
    for _ in range(100):
        if not is_running(pid):
            return
        await asyncio.sleep(0.05)
    pytest.fail(f"process {pid} still runs")


async def test_bot_that_died_is_started_again(tmp_path: Path) -> None:
    agent = bot(tmp_path, f"{READY}\n{WAIT}")
    pair = LaunchedBots({Side.AGENT: agent, Side.USER: bot(tmp_path, f"{READY}\n{WAIT}", Side.USER)}, 20)
    try:
        await pair.ensure_running()
        assert agent._process is not None
        os.kill(agent._process.pid, signal.SIGKILL)
        await agent._process.wait()
        await pair.ensure_running()
        assert agent.is_alive
    finally:
        await pair.stop()


async def test_very_long_line_does_not_stop_the_log(tmp_path: Path) -> None:
    launched = bot(tmp_path, f"print('x' * 300000)\n{READY}\n{WAIT}")
    await launched.start()
    await launched.wait_ready(20)
    await launched.stop()
    assert (tmp_path / "agent.log").stat().st_size > 300000


async def test_missing_configuration_is_named_before_anything_starts(tmp_path: Path) -> None:
    settings = LaunchSettings(tmp_path / "none.yaml", tmp_path / "user.yaml")
    with pytest.raises(ConfigError, match=r"--agent-config .*none\.yaml: no such file"):
        async with launched_bots(settings, tmp_path):
            pytest.fail("started")


def test_bot_is_told_its_settings_and_the_token_is_not_shown(tmp_path: Path) -> None:
    launched = LaunchedBot(Side.USER, tmp_path / "user.yaml", tmp_path / "log", token="hush")
    told = launched._environment()
    assert told["SERVER_CONFIG_PATH"] == str(tmp_path / "user.yaml")
    assert (told["WEBSOCKET_PORT"], told["SERVER_HOST"]) == ("0", "127.0.0.1")
    assert told["DUOLOGUE_TOKEN"] == "hush"
    assert "hush" not in repr(launched)
