"""``run_evaluation.py rescore RUN_DIR``: score stored calls again, without a call."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from duologue.cli.judge_options import add_judge_flags, judge_cache_folder, judge_settings, judge_spec
from duologue.clock import SystemClock
from duologue.errors import DuologueError
from duologue.records.result import ScenarioResult
from duologue.records.run_layout import TRACE
from duologue.records.shown import printable
from duologue.reports.run_files import load_result, scenario_folders
from duologue.reports.summary import render_rates
from duologue.runner.judging import judge_folder
from duologue.runner.rescoring import rebuild_run_files, rescore_folder
from duologue.runner.run_reports import write_run_reports
from duologue.scoring.aggregate import aggregate_results
from duologue.scoring.judge.client import Judge, build_judge

EXIT_DONE = 0  # as documented in docs/cli.md
EXIT_USAGE = 1  # nothing was rescored
EXIT_SKIPPED = 3  # some attempts could not be read

_AS_RUN, _EXACT = "as-run", "none"


def run_rescore(argv: Sequence[str]) -> int:
    """Rescore every scenario folder of a run directory and rebuild the files of the run.

    With a judge, its replies replace the stored ones first; everything else is scored from what is stored.

    Returns 0, 1 when there is nothing to rescore, or 3 when a folder could not be read and was skipped.
    """
    parser = _parser()
    args = parser.parse_args(argv)
    console, errors = Console(soft_wrap=True), Console(stderr=True, soft_wrap=True)
    run_dir: Path = args.run_dir
    folders = scenario_folders(run_dir) if run_dir.is_dir() else []
    if not folders:
        _say(errors, f"error: {run_dir} is not a run directory: it has no folder with a {TRACE}")
        return EXIT_USAGE
    judge = _judge(args, parser)
    compat = _compat(args.compat)
    changed, skipped = 0, 0
    for folder in folders:
        before = _stored(folder)
        try:
            if judge is not None:
                asyncio.run(judge_folder(folder, judge))
            after = rescore_folder(folder, compat)
        except DuologueError as error:
            skipped += 1
            _say(errors, f"skipped {folder.name}: {error}")
            continue
        if before is None or before.outcome.kind is not after.outcome.kind:
            changed += 1
            _say(console, f"{after.scenario}: {_kind(before)} -> {_kind(after)}")
    run = rebuild_run_files(run_dir)
    write_run_reports(run_dir, run)
    console.print(render_rates(aggregate_results(run.results)))
    _say(console, f"rescored {len(folders) - skipped} of {len(folders)}; verdicts changed: {changed}")
    return EXIT_SKIPPED if skipped else EXIT_DONE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="run_evaluation.py rescore",
        description="Score the calls of a run directory again from their traces, recordings and judge's replies.",
        epilog="exit codes: 0 done, 1 no run directory, 2 bad option, 3 done but unreadable folders were skipped",
        allow_abbrev=False,
    )
    parser.add_argument("run_dir", type=Path, metavar="RUN_DIR")
    parser.add_argument(
        "--compat",
        choices=(_AS_RUN, _EXACT, "reference"),
        default=_AS_RUN,
        help="as-run (default): as the run was scored; none: exact rules; reference: the reference harness's rules",
    )
    parser.add_argument(
        "--judge",
        type=judge_spec,
        metavar="MODEL@URL",
        help="ask this judge again; the same as --judge-model MODEL --judge-url URL",
    )
    add_judge_flags(parser, title="judge (without --judge or --judge-url stored replies are used)")
    return parser


def _judge(args: argparse.Namespace, parser: argparse.ArgumentParser) -> Judge | None:
    if args.judge and args.judge_url:
        parser.error("--judge already names an address; leave out --judge-url")
    settings = judge_settings(args, spec=args.judge or "")
    if settings is None:
        return None
    return build_judge(settings, SystemClock(), judge_cache_folder(args, args.run_dir.resolve().parent))


def _compat(choice: str) -> tuple[str, ...] | None:
    if choice == _AS_RUN:
        return None
    return () if choice == _EXACT else (choice,)


def _stored(folder: Path) -> ScenarioResult | None:
    try:
        return load_result(folder)
    except DuologueError:
        return None


def _kind(result: ScenarioResult | None) -> str:
    return result.outcome.kind.value if result is not None else "not scored"


def _say(console: Console, text: str) -> None:
    console.print(printable(text), markup=False, highlight=False)
