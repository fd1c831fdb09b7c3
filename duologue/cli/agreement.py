"""``run_evaluation.py agreement RUN_DIR --judge A --judge B``: how far two judges agree on stored calls."""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from duologue.cli.judge_options import add_judge_flags, judge_cache_folder, judge_settings, judge_spec
from duologue.clock import SystemClock
from duologue.errors import DuologueError
from duologue.records.agreement import AgreementReport, BinaryAgreement
from duologue.records.judge import JudgeResult
from duologue.records.run_layout import JUDGE_AGREEMENT, JUDGE_RESULT, TRACE, judge_replies
from duologue.reports.files import write_json
from duologue.reports.run_files import scenario_folders
from duologue.runner.judging import ask_about, load_judge_result, readable_trace
from duologue.scoring.judge.agreement import JudgedTwice, compare_judges
from duologue.scoring.judge.client import Judge, build_judge

EXIT_DONE = 0  # as documented in docs/cli.md
EXIT_USAGE = 1  # nothing was compared
EXIT_SKIPPED = 3  # something could not be compared

_SHOWN_DIFFERENCES = 20  # as many as a terminal shows at once; the file has them all


@dataclass(frozen=True, slots=True)
class _Source:
    """One of the two judges: its stored file in every folder, and whom to ask when that is to be made."""

    label: str
    file: str
    judge: Judge | None = None


def run_agreement(argv: Sequence[str]) -> int:
    """Compare two judges over a run directory, print the figures and write ``judge_agreement.json``.

    A judge is ``MODEL@URL``, which is asked now and whose replies are stored as ``judge_result.<name>.json``, or the
    name of a stored file in the scenario folders. ``judge_result.json`` and the scores of the run stay as they are.

    Returns 0, 1 when there is nothing to compare, or 3 when some attempts have no verdict of both.
    """
    parser = _parser()
    args = parser.parse_args(argv)
    console, errors = Console(soft_wrap=True), Console(stderr=True, soft_wrap=True)
    run_dir: Path = args.run_dir
    folders = scenario_folders(run_dir) if run_dir.is_dir() else []
    if not folders:
        _say(errors, f"error: {run_dir} is not a run directory: it has no folder with a {TRACE}")
        return EXIT_USAGE
    if len(args.judge) != 2:
        parser.error("give --judge twice")
    sources = [_source(args, text) for text in args.judge]
    attempts = [_judged(folder, sources, errors) for folder in folders]
    report = compare_judges(sources[0].label, sources[1].label, attempts)
    write_json(run_dir / JUDGE_AGREEMENT, report.model_dump(mode="json"))
    _show(console, report, run_dir / JUDGE_AGREEMENT)
    if not report.attempts.items:
        _say(errors, "error: no attempt was decided by both judges")
        return EXIT_USAGE
    return EXIT_SKIPPED if report.without_both else EXIT_DONE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="run_evaluation.py agreement",
        description="Compare two judges on the stored calls of a run directory.",
        epilog="exit codes: 0 done, 1 nothing to compare, 2 bad option, 3 done but some attempts lack a verdict",
        allow_abbrev=False,
    )
    parser.add_argument("run_dir", type=Path, metavar="RUN_DIR")
    parser.add_argument(
        "--judge",
        action="append",
        default=[],
        type=_judge_or_file,
        metavar="MODEL@URL|FILE",
        help=f"asked now, or a stored file of the scenario folders such as {JUDGE_RESULT}; give it twice",
    )
    add_judge_flags(parser, title="how judges are asked (the same for both)")
    return parser


def _judge_or_file(text: str) -> str:
    return text if re.fullmatch(r"[\w.-]+\.json", text) else judge_spec(text)


def _source(args: argparse.Namespace, text: str) -> _Source:
    if text.endswith(".json") and "@" not in text:
        return _Source(text, text)
    settings = judge_settings(args, spec=text)
    assert settings is not None
    judge = build_judge(settings, SystemClock(), judge_cache_folder(args, args.run_dir.resolve().parent))
    return _Source(f"{settings.model}@{settings.shown_url}", stored_name(settings.model, settings.shown_url), judge)


def stored_name(model: str, url: str) -> str:
    """Return the file name for replies of a judge: readable, and different for every model and address."""
    readable = re.sub(r"[^A-Za-z0-9.-]+", "-", model).strip(".-")[:60]
    return judge_replies(f"{readable}-{hashlib.sha256(f'{model}@{url}'.encode()).hexdigest()[:8]}")


def _judged(folder: Path, sources: Sequence[_Source], errors: Console) -> JudgedTwice:
    results: list[JudgeResult | None] = []
    scenario = folder.name
    for source in sources:
        try:
            if source.judge is not None:
                trace = readable_trace(folder)
                scenario = trace.header.scenario.name
                result = asyncio.run(ask_about(trace, folder, source.judge))
                write_json(folder / source.file, result.model_dump(mode="json"))
            results.append(load_judge_result(folder / source.file))
        except DuologueError as error:
            _say(errors, f"{folder.name}: {source.label}: {error}")
            results.append(None)
    return JudgedTwice(folder.name, scenario, results[0], results[1])


def _show(console: Console, report: AgreementReport, path: Path) -> None:
    table = Table(title=f"{report.first}  against  {report.second}", title_justify="left")
    for name in ("what", "compared", "both pass", "both fail", "only first", "only second", "agreement", "kappa"):
        table.add_column(name, justify="left" if name == "what" else "right")
    table.add_row("attempts", *_row(report.attempts))
    table.add_row("statements", *_row(report.claims))
    console.print(table)
    scores = report.scores
    if scores.mean is not None:
        _say(
            console,
            f"scores, first minus second: mean {scores.mean:+.3f}, mean absolute {scores.mean_absolute:.3f}, "
            f"largest {scores.largest:.3f}",
        )
    different = [item for item in report.scenarios if item.problem or item.first_passed is not item.second_passed]
    for item in different[:_SHOWN_DIFFERENCES]:
        text = item.problem or f"{item.first_score:.2f} against {item.second_score:.2f}"
        console.print(Text(f"  {item.scenario}: {text}"))
    _say(console, f"written: {path}")


def _row(figures: BinaryAgreement) -> tuple[str, ...]:
    counts = (
        figures.items,
        figures.both_passed,
        figures.both_failed,
        figures.only_first_passed,
        figures.only_second_passed,
    )
    share = "–" if figures.agreement is None else f"{figures.agreement:.1%}"
    return (*map(str, counts), share, "–" if figures.kappa is None else f"{figures.kappa:.2f}")


def _say(console: Console, text: str) -> None:
    console.print(text, markup=False, highlight=False)
