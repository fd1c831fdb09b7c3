"""``run_evaluation.py talk --scenario NAME --as SIDE``: take one side of a call yourself, in a browser."""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import os
import signal
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from duologue.cli.logging_setup import run_log
from duologue.cli.option_values import number, whole
from duologue.cli.options import EXIT_FINISHED, EXIT_INTERRUPTED, EXIT_NOT_EVALUABLE, EXIT_USAGE
from duologue.cli.progress import PLAIN_WIDTH, PlainProgress, print_final
from duologue.cli.suite_options import add_resource_flag, given_resources
from duologue.clock import SystemClock
from duologue.errors import ConfigError
from duologue.records.action import Side
from duologue.records.outcome import OutcomeKind
from duologue.records.run_layout import RUNS
from duologue.records.scenario import Scenario
from duologue.runner.batch import Batch
from duologue.runner.build import apply_run_settings, build_scenarios, check_scenarios
from duologue.runner.folders import create_run_dir, write_run_args
from duologue.runner.lines import load_lines
from duologue.runner.observer import RunObserver
from duologue.runner.settings import LaunchSettings, RunSettings, Selection
from duologue.talk.server import check_host

DEFAULT_PORT = 8767  # after 8765 and 8766, where the bots listen by default


def run_talk(argv: Sequence[str]) -> int:
    """Serve the page, run the call of whoever opens it, score it, and return the exit code.

    Raises:
        ConfigError: aiortc is missing, or an option does not fit.
        RegistryError: there is no such scenario.
    """
    args = build_talk_parser().parse_args(argv)
    if importlib.util.find_spec("aiortc") is None:
        raise ConfigError("talking in a browser needs aiortc: pip install 'duologue[webrtc]', or pip install aiortc")
    settings = _settings(args)
    check_host(args.host, settings.token)
    (scenario,) = apply_run_settings(build_scenarios(Selection(names=(args.scenario,))), settings)
    check_scenarios([scenario])
    console = Console()
    console = console if console.is_terminal else Console(width=PLAIN_WIDTH)
    return _run(args, settings, scenario, console, argv)


def build_talk_parser() -> argparse.ArgumentParser:
    """Return the parser of ``talk``."""
    parser = argparse.ArgumentParser(
        prog="run_evaluation.py talk",
        description="Take one side of a call yourself, in a browser. The call is recorded and scored like any other.",
        allow_abbrev=False,
    )
    parser.add_argument("--scenario", required=True, metavar="NAME", help="the scenario to play")
    parser.add_argument("--as", dest="side", required=True, choices=[side.value for side in Side], help="your side")
    parser.add_argument("--launch", action="store_true", help="start the other side's bot, and stop it at the end")
    for side, port in ((Side.AGENT, 8765), (Side.USER, 8766)):
        config = Path("server_configs") / f"{side}.yaml"
        parser.add_argument(f"--{side}-url", default=f"ws://localhost:{port}", help=f"the {side} bot (%(default)s)")
        parser.add_argument(
            f"--{side}-config", type=Path, default=config, metavar="YAML", help="with --launch (%(default)s)"
        )
    add_resource_flag(parser)
    parser.add_argument("--host", default="127.0.0.1", help="interface of the page; others need a token (%(default)s)")
    parser.add_argument(
        "--port", type=whole(0), default=DEFAULT_PORT, help="port of the page, 0 a free one (%(default)s)"
    )
    parser.add_argument("--auth-token", metavar="TOKEN", help="token of the page and of the bot; else DUOLOGUE_TOKEN")
    parser.add_argument(
        "--duration", type=number(0, above=True), metavar="S", help="seconds, instead of the scenario's"
    )
    parser.add_argument("--line", metavar="YAML", help="what happens to the sound between you and the bot, or clean")
    parser.add_argument(
        "--output-dir", type=Path, default=Path(RUNS), metavar="DIR", help="parent of runs (%(default)s)"
    )
    return parser


def _settings(args: argparse.Namespace) -> RunSettings:
    return RunSettings(
        agent_url=args.agent_url,
        user_url=args.user_url,
        token=args.auth_token or os.environ.get("DUOLOGUE_TOKEN") or None,
        output_dir=args.output_dir,
        duration_s=args.duration,
        lines=load_lines([args.line] if args.line is not None else []),
        pace="wall",
        launch=LaunchSettings(args.agent_config, args.user_config) if args.launch else None,
        resource_urls=given_resources(args),
    )


def _run(
    args: argparse.Namespace, settings: RunSettings, scenario: Scenario, console: Console, argv: Sequence[str]
) -> int:
    # Imported here, because aiortc is optional.
    from duologue.runner.talking import PageSettings, check_talk, conduct_talk
    from duologue.talk.desk import Desk
    from duologue.talk.line import WebRtcLine

    check_talk(scenario)
    clock = SystemClock()
    started = clock.utc_now()
    run_dir = create_run_dir(settings.output_dir, started)
    write_run_args(run_dir, started=started, argv=["talk", *argv], parsed=vars(args), names=[scenario.name])
    batch = Batch.plan([scenario], run_dir, lines=settings.lines)
    page = PageSettings(args.host, args.port, settings.token)

    async def talk(observer: RunObserver) -> None:
        task = asyncio.current_task()
        assert task is not None
        for stop in (signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(stop, task.cancel)
        desk = Desk(scenario, Side(args.side), WebRtcLine(clock))
        await conduct_talk(settings, page, batch, desk, observer, clock, lambda url: _invite(console, url))

    is_stopped = False
    with run_log(run_dir):
        try:
            if settings.launch is not None:
                console.print(f"starting the {Side(args.side).other} bot…", highlight=False)
            observer = PlainProgress(console, clock, verbosity=1)
            observer.run_started(run_dir, 1)
            asyncio.run(talk(observer))
        except (KeyboardInterrupt, asyncio.CancelledError):
            is_stopped = True
    if batch.results:
        print_final(console, run_dir, batch.results, batch.folders)
    if is_stopped:
        return EXIT_INTERRUPTED
    return _exit_code(batch)


def _exit_code(batch: Batch) -> int:
    if not batch.results:
        return EXIT_USAGE
    kinds = {result.outcome.kind for result in batch.results}
    return EXIT_NOT_EVALUABLE if OutcomeKind.NOT_EVALUABLE in kinds else EXIT_FINISHED


def _invite(console: Console, url: str) -> None:
    console.print(f"open {url} in a browser and press “Start call”; Ctrl-C stops", highlight=False, soft_wrap=True)
