"""The flags of ``run_evaluation.py``: declared, parsed, checked."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlsplit

from duologue import __version__
from duologue.cli.judge_options import add_judge_flags, judge_cache_folder, judge_settings
from duologue.cli.option_values import number, whole
from duologue.cli.realtime_options import add_realtime_flags, frame_problem, realtime_settings
from duologue.cli.rerun_options import add_rerun_flags, given_causes, rerun_problem
from duologue.cli.suite_options import (
    adapter_settings,
    add_caller_flags,
    add_domain_flags,
    add_line_flag,
    add_resource_flag,
    add_trial_flags,
    given_domain_flags,
    given_resources,
)
from duologue.records.outcome import Cause
from duologue.records.run_layout import RUNS
from duologue.runner.build import compat_modes, domain_flags
from duologue.runner.lines import load_lines
from duologue.runner.settings import LaunchSettings, RunSettings, Selection

EXIT_FINISHED = 0  # exit codes are documented in docs/cli.md
EXIT_USAGE = 1  # flags that do not fit together, unknown names
EXIT_BAD_VALUE = 2  # as argparse does
EXIT_NOT_EVALUABLE = 3  # every attempt ran, some say nothing about the agent
EXIT_INTERRUPTED = 130  # 128 + SIGINT, as shells report it

RATE_HZ = 16000  # the rate of the line between the sides, in Hz
LONGEST_S = 86400
"""Seconds that a call or a pause may last."""

_EPILOG = """\
stored runs:
  run_evaluation.py rescore RUN_DIR      score it again, without a call
  run_evaluation.py agreement RUN_DIR    compare two judges on it
  each with --help

yourself in a browser:
  run_evaluation.py talk --scenario NAME --as user|agent [--launch]

a domain without sound, in seconds:
  run_evaluation.py text --domain NAME [--agent reference|do_nothing|wrong_action]

exit codes:
  0 finished · 1 usage, unknown name, or nothing ran · 2 bad option value
  3 finished, but something was not evaluable · 130 stopped with Ctrl-C

environment:
  DUOLOGUE_TOKEN    shared token of bots and bridge; --auth-token wins
  DUOLOGUE_DOMAINS  further folders that hold domains
  EVAL_DATA_ROOT    folder that the data of domains are read from (data)
"""


class OptionError(Exception):
    """The command line cannot be used; ``exit_code`` says how the program ends."""

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


@dataclass(frozen=True, slots=True)
class Options:
    """A parsed command line.

    ``rerun`` is a stored run whose attempts are run again, where ``causes`` (all, if empty) made them not evaluable.
    ``parsed`` holds every flag by its name, for the record of the run.
    """

    selection: Selection
    run: RunSettings
    is_demo: bool = False
    is_list: bool = False
    is_list_domains: bool = False
    is_quiet: bool = False
    verbosity: int = 0
    rerun: Path | None = None
    causes: tuple[Cause, ...] = ()
    parsed: dict[str, object] = field(default_factory=dict)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise OptionError(message, EXIT_USAGE)


def parse_options(argv: Sequence[str]) -> Options:
    """Return the checked options.

    Raises:
        OptionError: unknown flags (code 1), bad values (code 2), flags that this version does not have (code 1).
        SystemExit: after ``--help`` and ``--version``, with code 0.
    """
    try:
        args = build_parser().parse_args(list(argv))
    except argparse.ArgumentError as error:
        raise OptionError(str(error), EXIT_BAD_VALUE) from error
    _refuse_missing_features(args)
    launch = LaunchSettings(args.agent_config, args.user_config) if args.launch else None
    selection = Selection(
        names=tuple(args.scenarios or ()),
        prefix=args.domain or "",
        limit=args.limit,
        split=args.split,
        compat=tuple(dict.fromkeys(args.compat)),
        suite=args.suite,
        extra=given_domain_flags(args),
    )
    run = RunSettings(
        agent_url=args.agent_url,
        user_url=args.user_url,
        token=args.auth_token or os.environ.get("DUOLOGUE_TOKEN") or None,
        output_dir=args.output_dir,
        duration_s=args.duration,
        pause_s=args.pause,
        pace=args.pace,
        bot_protocol=args.bot_protocol,
        realtime=realtime_settings(args),
        seed=args.seed,
        trials=args.trials,
        lines=load_lines(args.line),
        caller_gap_s=args.caller_gap,
        caller_patience_s=args.caller_patience,
        is_one_shot=args.dispatch == "once",
        user_config=args.user_config,
        adapter=adapter_settings(args),
        strict_match=args.strict_match,
        min_agent_turns=args.min_agent_turns,
        compat=selection.compat,
        launch=launch,
        judge=judge_settings(args),
        judge_cache=judge_cache_folder(args, args.output_dir),
        resource_urls=given_resources(args),
    )
    return Options(
        selection,
        run,
        args.demo,
        args.list,
        args.list_domains,
        args.quiet,
        args.verbose,
        rerun=args.rerun,
        causes=given_causes(args),
        parsed=dict(vars(args)),
    )


def build_parser() -> argparse.ArgumentParser:
    """Return the parser with its flags in groups."""
    parser = _Parser(
        prog="run_evaluation.py",
        usage="run_evaluation.py [options]\n       run_evaluation.py rescore RUN_DIR [options]\n"
        "       run_evaluation.py agreement RUN_DIR --judge A --judge B",
        description="Run spoken conversations between a simulated user and an agent, and score them.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        exit_on_error=False,
    )
    parser.add_argument("--version", action="version", version=f"duologue {__version__}")
    for add_group in (
        _add_scenarios,
        _add_bots,
        _add_call,
        add_realtime_flags,
        add_caller_flags,
        _add_scoring,
        _add_output,
    ):
        add_group(parser)
    add_judge_flags(parser, is_dispensable=True)
    add_domain_flags(parser, domain_flags())
    return parser


def _add_scenarios(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("which scenarios (all, unless named)")
    group.add_argument("--scenarios", nargs="+", metavar="NAME", help="exact names; wins over --domain")
    group.add_argument("--domain", type=_prefix, metavar="D", help="the scenarios whose name begins with D__")
    group.add_argument("--demo", action="store_true", help="the short fixed list that shows what a run looks like")
    group.add_argument("--limit", type=whole(1), metavar="N", help="only the first N, evenly over suites")
    add_trial_flags(group)
    add_rerun_flags(group)
    group.add_argument("--split", default="base", help="named subset of a domain (%(default)s)")
    group.add_argument("--list", action="store_true", help="print the names and stop")
    group.add_argument("--list-domains", action="store_true", help="print how many scenarios each prefix has and stop")


def _add_bots(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("the two bots")
    group.add_argument("--user-url", type=_url, default="ws://localhost:8766", help="user bot (%(default)s)")
    group.add_argument("--agent-url", type=_url, default="ws://localhost:8765", help="agent bot (%(default)s)")
    group.add_argument("--launch", action="store_true", help="start the bots on free ports, and stop them at the end")
    configs = Path("server_configs")
    group.add_argument(
        "--agent-config", type=Path, default=configs / "agent.yaml", help="with --launch (%(default)s)", metavar="YAML"
    )
    group.add_argument(
        "--user-config", type=Path, default=configs / "user.yaml", help="with --launch (%(default)s)", metavar="YAML"
    )
    group.add_argument("--auth-token", metavar="TOKEN", help="shared token that the bots ask for")
    add_resource_flag(group)


def _add_call(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("the call")
    group.add_argument(
        "--duration",
        type=number(0, LONGEST_S, above=True),
        metavar="S",
        help="media seconds, instead of each scenario's own",
    )
    group.add_argument(
        "--pace",
        choices=("free", "wall"),
        default="free",
        help="free: as fast as the machine can; wall: real time (%(default)s)",
    )
    group.add_argument(
        "--pause", type=number(0, LONGEST_S), default=0.0, metavar="S", help="wait before each call (%(default)s)"
    )
    add_line_flag(group)
    group.add_argument("--seed", type=whole(0), default=0, help="written into every trace (%(default)s)")
    group.add_argument(
        "--output-sample-rate",
        type=_exactly(RATE_HZ, "recordings keep the rate of the call, convert a copy instead"),
        default=RATE_HZ,
        metavar="HZ",
        help="rate of the recording; only %(default)s",
    )


def _add_scoring(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("scoring")
    group.add_argument(
        "--compat",
        action="append",
        default=[],
        choices=compat_modes(),
        help="reference: rules of the reference harness; the others: a domain's rule profile; may be given twice",
    )
    group.add_argument("--strict-match", action="store_true", help="writes beyond the expected ones fail action match")
    group.add_argument(
        "--min-agent-turns",
        type=whole(0),
        default=3,
        metavar="N",
        help="fewer LLM calls of the agent than this fail a scenario, 0 turns it off (%(default)s)",
    )


def _add_output(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("output")
    group.add_argument(
        "--output-dir", type=Path, default=Path(RUNS), metavar="DIR", help="parent of runs (%(default)s)"
    )
    group.add_argument("--quiet", action="store_true", help="only the final table and the paths")
    group.add_argument("-v", "--verbose", action="count", default=0, help="utterances and tools in plain output")
    group.add_argument("--resume", metavar="TS", help="not available in this version")


def _refuse_missing_features(args: argparse.Namespace) -> None:
    if problem := frame_problem(args):
        raise OptionError(problem, EXIT_BAD_VALUE)
    if args.resume:
        raise OptionError("--resume: not available in this version; start a new run", EXIT_USAGE)
    if problem := rerun_problem(args):
        raise OptionError(problem, EXIT_USAGE)
    if args.demo and (args.scenarios or args.domain):
        raise OptionError("--demo is a fixed list; leave out --scenarios and --domain", EXIT_USAGE)
    if args.adapter and args.launch:
        raise OptionError("--adapter takes the place of the agent bot; leave out --launch", EXIT_USAGE)
    if args.no_judge and args.judge_url:
        raise OptionError("--no-judge and --judge-url contradict each other", EXIT_USAGE)


def _exactly(only: float, why: str) -> Callable[[str], float]:
    def parse(text: str) -> float:
        value = number(0)(text)
        if value != only:
            raise argparse.ArgumentTypeError(f"{text} is not supported, only {only:g}: {why}")
        return only

    return parse


def _prefix(text: str) -> str:
    prefix = text.removesuffix("__")
    if not prefix:
        raise argparse.ArgumentTypeError(f"{text!r} is no prefix; leave the flag out to run everything")
    return prefix


def _url(text: str) -> str:
    try:
        parts = urlsplit(text)
        is_address = parts.scheme in ("ws", "wss") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address:
        raise argparse.ArgumentTypeError(f"{text!r} is not a WebSocket address like ws://localhost:8765")
    return text
