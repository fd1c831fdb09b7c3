"""``run_evaluation.py``: from the command line to a finished run and its exit code."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.console import Console

from duologue.cli.judge_options import with_due_judge
from duologue.cli.listing import print_domains, print_names
from duologue.cli.logging_setup import quiet_libraries, run_log, write_in_any_encoding
from duologue.cli.options import (
    EXIT_FINISHED,
    EXIT_INTERRUPTED,
    EXIT_NOT_EVALUABLE,
    EXIT_USAGE,
    OptionError,
    Options,
    parse_options,
)
from duologue.cli.progress import PLAIN_WIDTH, LiveProgress, PlainProgress, print_final, print_summaries
from duologue.clock import Clock, SystemClock
from duologue.errors import DuologueError
from duologue.records.outcome import OutcomeKind
from duologue.records.result import ScenarioResult
from duologue.records.scenario import Scenario
from duologue.records.shown import printable
from duologue.reports.run_files import load_results
from duologue.runner.build import (
    apply_run_settings,
    build_scenarios,
    check_adapter,
    check_scenarios,
    demo_names,
    judged_scenarios,
)
from duologue.runner.folders import create_run_dir, removed_if_nothing_ran, write_run_args
from duologue.runner.observer import RunObserver, SilentObserver
from duologue.runner.rerun import Rerun, check_profiles, load_rerun
from duologue.runner.settings import RunSettings

if TYPE_CHECKING:
    from duologue.runner.batch import Batch
    from duologue.scoring.judge.client import Judge

RESCORE, AGREEMENT, TALK, TEXT = "rescore", "agreement", "talk", "text"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code (see ``--help``)."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    write_in_any_encoding()
    quiet_libraries()
    try:
        if arguments[:1] == [RESCORE]:
            return _rescore(arguments[1:])
        if arguments[:1] == [AGREEMENT]:
            return _agreement(arguments[1:])
        if arguments[:1] == [TALK]:
            return _talk(arguments[1:])
        if arguments[:1] == [TEXT]:
            return _text(arguments[1:])
        return _evaluate(arguments, parse_options(arguments))
    except OptionError as error:
        _print_error(f"{error}\nrun_evaluation.py --help lists the options")
        return error.exit_code
    except DuologueError as error:
        _print_error(str(error))
        return EXIT_USAGE
    except OSError as error:
        _print_error(f"{error.filename or 'writing'}: {error.strerror or error}")
        return EXIT_USAGE
    except KeyboardInterrupt:
        _print_error("stopped")
        return EXIT_INTERRUPTED


def _evaluate(argv: Sequence[str], options: Options) -> int:
    console = _console()
    rerun = load_rerun(options.rerun, options.causes) if options.rerun is not None else None
    selection = options.selection
    if options.is_demo or rerun is not None:
        selection = replace(selection, names=demo_names() if rerun is None else rerun.names)
    scenarios = build_scenarios(selection)
    if options.is_list_domains:
        print_domains(console, scenarios)
        return EXIT_FINISHED
    if options.is_list:
        print_names(console, scenarios)
        return EXIT_FINISHED
    if not scenarios:
        raise OptionError("no scenario to run", EXIT_USAGE)
    if rerun is not None:
        check_profiles(rerun, scenarios)
    scenarios = apply_run_settings(scenarios, options.run)
    check_scenarios(scenarios)
    if options.run.adapter is not None:
        check_adapter(scenarios)
    options = replace(options, run=with_due_judge(options.run, options.parsed, judged_scenarios(scenarios)))
    return _run(argv, options, scenarios, rerun, console)


def _run(
    argv: Sequence[str], options: Options, scenarios: Sequence[Scenario], rerun: Rerun | None, console: Console
) -> int:
    # Imported here, so that --help, --list and bad options answer at once.
    from duologue.runner.batch import Batch
    from duologue.runner.run_reports import write_run_reports

    clock = SystemClock()
    started = clock.utc_now()
    run_dir = create_run_dir(options.run.output_dir, started)
    names = [scenario.name for scenario in scenarios]
    origin = rerun.record(names) if rerun is not None else None
    write_run_args(run_dir, started=started, argv=argv, parsed=options.parsed, names=names, rerun=origin)
    only = rerun.trials if rerun is not None else None
    settings = options.run
    batch = Batch.plan(scenarios, run_dir, seed=settings.seed, trials=settings.trials, lines=settings.lines, only=only)
    is_stopped = False
    with removed_if_nothing_ran(run_dir), run_log(run_dir):
        try:
            with _observer(options, console, clock) as observer:
                observer.run_started(run_dir, len(batch.attempts))
                asyncio.run(_conduct(options.run, batch, observer, clock))
        except (KeyboardInterrupt, asyncio.CancelledError):
            is_stopped = True
    if batch.results:
        print_final(console, run_dir, batch.results, batch.folders)
        print_summaries(console, write_run_reports(run_dir, load_results(run_dir)))
    if is_stopped:
        _print_error(f"stopped; what was finished is in {run_dir}")
        return EXIT_INTERRUPTED
    return exit_code(batch.results)


def exit_code(results: Sequence[ScenarioResult]) -> int:
    """Return how a run that was not stopped ends: something not evaluable, nothing ran, or all well."""
    if not results:
        return EXIT_USAGE
    if any(result.outcome.kind is OutcomeKind.NOT_EVALUABLE for result in results):
        return EXIT_NOT_EVALUABLE
    return EXIT_FINISHED


async def _conduct(settings: RunSettings, batch: Batch, observer: RunObserver, clock: Clock) -> None:
    """Run the batch; a polite signal to this process ends it like Ctrl-C."""
    from duologue.runner.conduct import conduct

    task = asyncio.current_task()
    assert task is not None
    for number in (signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    await conduct(settings, batch, observer, clock, await _ready_judge(settings, clock))


async def _ready_judge(settings: RunSettings, clock: Clock) -> Judge | None:
    """Return the run's judge once it has answered, or None without one; raises JudgeError before any call."""
    if settings.judge is None:
        return None
    from duologue.scoring.judge.client import build_judge

    judge = build_judge(settings.judge, clock, settings.judge_cache)
    await judge.probe()
    return judge


def _observer(options: Options, console: Console, clock: Clock) -> AbstractContextManager[RunObserver]:
    if options.is_quiet:
        return nullcontext(SilentObserver())
    if console.is_terminal:
        return LiveProgress(console, clock)
    return nullcontext(PlainProgress(console, clock, options.verbosity))


def _console() -> Console:
    console = Console()
    return console if console.is_terminal else Console(width=PLAIN_WIDTH)


def _rescore(arguments: list[str]) -> int:
    from duologue.cli.rescore import run_rescore

    return run_rescore(arguments)


def _agreement(arguments: list[str]) -> int:
    from duologue.cli.agreement import run_agreement

    return run_agreement(arguments)


def _talk(arguments: list[str]) -> int:
    from duologue.cli.talk import run_talk

    return run_talk(arguments)


def _text(arguments: list[str]) -> int:
    from duologue.cli.text import run_text

    return run_text(arguments)


def _print_error(message: str) -> None:
    Console(stderr=True).print(f"error: {printable(message)}", markup=False, highlight=False, soft_wrap=True)
