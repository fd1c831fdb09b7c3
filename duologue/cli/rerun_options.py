"""The flags that run attempts of a stored run again."""

from __future__ import annotations

import argparse
from pathlib import Path

from duologue.records.outcome import Cause
from duologue.runner.settings import ALL_SUITES


def add_rerun_flags(group: argparse._ArgumentGroup) -> None:
    """Add ``--rerun`` and ``--cause``."""
    group.add_argument(
        "--rerun", type=Path, metavar="RUN_DIR", help="what was not evaluable in a stored run, into a new run"
    )
    group.add_argument(
        "--cause",
        action="append",
        default=[],
        choices=[cause.value for cause in Cause],
        help="with --rerun, only what was not evaluable for this cause; may be given again",
    )


def rerun_problem(args: argparse.Namespace) -> str:
    """Return why the flags do not go together, or an empty text."""
    if args.rerun is None:
        return "--cause narrows --rerun; give --rerun RUN_DIR as well" if args.cause else ""
    given = {
        "--scenarios": bool(args.scenarios),
        "--domain": bool(args.domain),
        "--suite": args.suite != ALL_SUITES,
        "--demo": args.demo,
        "--trials": args.trials != 1,
        "--line": bool(args.line),
    }
    wrong = [flag for flag, is_given in given.items() if is_given]
    return (
        f"--rerun takes scenarios, trials and lines from the stored run; leave out {', '.join(wrong)}" if wrong else ""
    )


def given_causes(args: argparse.Namespace) -> tuple[Cause, ...]:
    """Return the causes that were given, each once."""
    return tuple(Cause(text) for text in dict.fromkeys(args.cause))
