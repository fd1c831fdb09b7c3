"""``run_evaluation.py text --domain NAME``: every scenario of a domain as a call without sound."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from duologue.cli.logging_setup import run_log
from duologue.cli.option_values import whole
from duologue.cli.options import EXIT_FINISHED, EXIT_USAGE
from duologue.cli.suite_options import add_resource_flag, given_resources
from duologue.clock import SystemClock
from duologue.errors import ConfigError
from duologue.records.outcome import Outcome, OutcomeKind
from duologue.records.result import ScenarioResult
from duologue.records.scenario import CatalogueOptions, Scenario
from duologue.records.shown import printable
from duologue.registry import load_domain
from duologue.reports.run_files import load_results
from duologue.runner.attempt import AttemptRunner
from duologue.runner.batch import Batch
from duologue.runner.folders import create_run_dir, removed_if_nothing_ran, write_run_args
from duologue.runner.mutation import MUTATION_KINDS
from duologue.runner.observer import SilentObserver
from duologue.runner.run_reports import write_run_reports
from duologue.runner.settings import RunSettings
from duologue.runner.text_calls import TextCalls
from duologue.scoring.score import score_trace
from duologue.text.call import check_line
from duologue.text.noise import CLEAN, MILD
from duologue.toolkit.resource_life import started_resources
from duologue.toolkit.rules import CATALOGUES, RULES_NAME

REFERENCE, WRONG = "reference", "wrong_action"
AGENTS = (REFERENCE, "do_nothing", WRONG)

_DESCRIPTION = """\
Play every scenario of a domain without sound, between a scripted agent and the scenario's
caller, and print how many the agent passes and which came out otherwise than they should:
the reference agent has to pass all, the others none."""

_EPILOG = """\
exit codes:
  0 every scenario came out as it should · 1 one did not, or unknown name · 2 bad option
  130 stopped with Ctrl-C"""


def run_text(argv: Sequence[str]) -> int:
    """Play the scenarios, print the counts, and return the exit code.

    Raises:
        DuologueError: there is no such domain, or a scenario cannot be played without sound.
    """
    args = build_text_parser().parse_args(argv)
    load_domain(args.domain)
    options = CatalogueOptions(split=args.split, profile=args.profile)
    scenarios = CATALOGUES.get(args.domain, RULES_NAME).load(options)
    if not scenarios:
        raise ConfigError(f"--domain {args.domain}: no scenario to play")
    for scenario in scenarios:
        check_line(scenario)
    mutation = args.mutation if args.agent == WRONG else ""
    calls = TextCalls(args.agent, mutation, MILD if args.noise else CLEAN)
    tally = _Tally(args.agent, mutation)
    urls = given_resources(args)
    if args.output_dir is None:
        asyncio.run(_play(calls, scenarios, args.seed, tally, urls))
    else:
        run_dir = _run(args, calls, scenarios, tally, urls, argv)
        sys.stdout.write(f"run directory: {run_dir}\n")
    sys.stdout.write(f"{tally}\n")
    return EXIT_FINISHED if tally.is_as_expected else EXIT_USAGE


def build_text_parser() -> argparse.ArgumentParser:
    """Return the parser of ``text``."""
    parser = argparse.ArgumentParser(
        prog="run_evaluation.py text",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--domain", required=True, metavar="NAME", help="the domain whose scenarios are played")
    parser.add_argument("--agent", default=REFERENCE, choices=AGENTS, help="what answers the caller (%(default)s)")
    parser.add_argument(
        "--mutation",
        default="drop",
        choices=MUTATION_KINDS,
        help=f"how the plan of --agent {WRONG} is wrong (%(default)s)",
    )
    parser.add_argument(
        "--profile", default="", metavar="NAME", help="rule variant of the domain; its default when left out"
    )
    parser.add_argument("--split", default="base", metavar="NAME", help="named subset of the domain (%(default)s)")
    parser.add_argument("--noise", action="store_true", help="words arrive as a small speech recognizer hears them")
    parser.add_argument(
        "--seed", type=whole(0), default=0, metavar="N", help="what noise and callers draw from (%(default)s)"
    )
    add_resource_flag(parser)
    parser.add_argument(
        "--output-dir", type=Path, metavar="DIR", help="parent of a run with trace and result files; none when left out"
    )
    return parser


@dataclass(slots=True)
class _Tally:
    """What came of the scenarios; names those that came out otherwise than they should."""

    agent: str
    mutation: str
    counts: Counter[OutcomeKind] = field(default_factory=Counter)

    def add(self, scenario: str, outcome: Outcome) -> None:
        """Count one scenario, and print it when it is not as it should be."""
        self.counts[outcome.kind] += 1
        if (outcome.kind is OutcomeKind.PASSED) != (self.agent == REFERENCE):
            sys.stdout.write(printable(f"{scenario}: {outcome.kind} {outcome.detail}") + "\n")

    @property
    def is_as_expected(self) -> bool:
        """Whether every scenario came out as it should."""
        expected = OutcomeKind.PASSED if self.agent == REFERENCE else OutcomeKind.FAILED
        return self.counts[expected] == self.counts.total()

    def __str__(self) -> str:
        label = f"{self.agent} {self.mutation}".strip()
        return f"{label}: {', '.join(f'{self.counts[kind]} {kind}' for kind in OutcomeKind)}"


async def _play(
    calls: TextCalls, scenarios: Sequence[Scenario], seed: int, tally: _Tally, urls: Mapping[str, str]
) -> None:
    clock = SystemClock()
    async with started_resources(scenarios, urls) as resources:
        for scenario in scenarios:
            trace = await replace(calls, resources=resources).play(scenario, seed)
            tally.add(scenario.name, score_trace(trace, None).outcome)
            await clock.sleep(0)  # Calls without sound wait for nothing, so that this is where Ctrl-C arrives.


@dataclass(frozen=True, slots=True)
class _Counted(SilentObserver):
    """Counts every scenario of a run."""

    tally: _Tally

    def scenario_finished(self, result: ScenarioResult, folder: Path) -> None:
        """Count it."""
        self.tally.add(result.scenario, result.outcome)


def _run(
    args: argparse.Namespace,
    calls: TextCalls,
    scenarios: Sequence[Scenario],
    tally: _Tally,
    urls: Mapping[str, str],
    argv: Sequence[str],
) -> Path:
    """Play into a run directory and return it."""
    clock = SystemClock()
    started = clock.utc_now()
    run_dir = create_run_dir(args.output_dir, started)
    names = [scenario.name for scenario in scenarios]
    write_run_args(run_dir, started=started, argv=["text", *argv], parsed=vars(args), names=names)
    batch = Batch.plan(scenarios, run_dir, seed=args.seed)
    settings = RunSettings(output_dir=args.output_dir, seed=args.seed, resource_urls=urls)

    async def play() -> None:
        async with started_resources(scenarios, urls) as resources:
            own = replace(calls, resources=resources)
            await batch.run(AttemptRunner(settings, clock, _Counted(tally), own))

    with removed_if_nothing_ran(run_dir), run_log(run_dir):
        asyncio.run(play())
    write_run_reports(run_dir, load_results(run_dir))
    return run_dir
