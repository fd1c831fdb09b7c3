"""Run a bot: ``python bot_server.py``, or ``duologue-bot``."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence
from pathlib import Path

from duologue.cli.lifeline import follow_lifeline
from duologue.config import load_bot_config
from duologue.errors import DuologueError

_EPILOG = """environment (a flag beats it, it beats the file):
  SERVER_CONFIG_PATH   the configuration file, relative to the current directory
  WEBSOCKET_PORT       the port to listen on
  SERVER_HOST          the address to listen on; anything but loopback needs a token
  DUOLOGUE_TOKEN       the token that clients have to send"""


def main(argv: Sequence[str] | None = None) -> int:
    """Serve one bot until it is told to stop; return the exit code (1: settings or models, 2: options)."""
    options = _parser().parse_args(argv)
    follow_lifeline()
    try:
        config = load_bot_config(options.config, overrides={"host": options.host, "port": options.port})
        logging.basicConfig(
            level=config.server.log_level, stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s"
        )
        from duologue.bots.server import run_bot

        run_bot(config, lambda line: print(line, flush=True))
    except DuologueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bot_server.py",
        description="Serve one bot (the agent under test, or the simulated user) over WebSocket.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--config", type=Path, help="configuration file (default: server_configs/agent.yaml)")
    parser.add_argument("--host", help="address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, help="port to listen on (default: server.port, else 8765)")
    return parser
