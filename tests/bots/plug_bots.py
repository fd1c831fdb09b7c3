"""Bots from configuration files, each a default file with one edit."""

from __future__ import annotations

import contextlib
import http.server
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml

from duologue.bots.services import load_models
from duologue.config import BotConfig, load_bot_config
from tests.bots.running_bot import RunningBot

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


def documented(heading: str) -> dict[str, Any]:
    """The first YAML block below a heading of docs/plugs.md."""
    section = (ROOT / "docs" / "plugs.md").read_text(encoding="utf-8").split(f"## {heading}\n", 1)[1]
    config: dict[str, Any] = yaml.safe_load(section.split("```yaml\n", 1)[1].split("```", 1)[0])
    return config


def write_config(path: Path, edit: dict[str, Any]) -> Path:
    """Write the shipped agent configuration with ``edit``, whose sections replace those of the same name."""
    base = yaml.safe_load((ROOT / "server_configs" / "agent.yaml").read_text(encoding="utf-8"))
    values = {**base, **edit}
    values["server"] = {**base["server"], "port": 0, **edit.get("server", {})}
    path.write_text(yaml.safe_dump(values), encoding="utf-8")
    return path


@contextlib.contextmanager
def bot_with(tmp_path: Path, edit: dict[str, Any]) -> Iterator[RunningBot]:
    """A running bot of the shipped configuration with one edit; its brain needs no plan unless the edit names one."""
    config = bot_config(tmp_path, {"llm": {"type": "do_nothing"}, **edit})
    with RunningBot(config, load_models(config)) as bot:
        yield bot


def bot_config(tmp_path: Path, edit: dict[str, Any]) -> BotConfig:
    return load_bot_config(write_config(tmp_path / "agent.yaml", edit), env={})


@contextlib.contextmanager
def recognizer(answer: Callable[[bytes], str], *, delay_s: float = 0.0) -> Iterator[tuple[str, list[bytes]]]:
    """An HTTP server that answers each posted piece of audio; gives its URL and what it got."""
    got: list[bytes] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            audio = self.rfile.read(int(self.headers["Content-Length"]))
            got.append(audio)
            threading.Event().wait(delay_s)
            body = answer(audio).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/transcribe", got
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
