"""Putting stored attempts to a judge, and reading what a judge said of them."""

from __future__ import annotations

import hashlib
import logging
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from duologue.errors import TraceError
from duologue.records.judge import JudgeResult
from duologue.records.judgement import Judgement
from duologue.records.record import Record
from duologue.records.run_layout import JUDGE_RESULT, JUDGEMENT, TRACE
from duologue.registry import load_domain
from duologue.reports.files import write_json
from duologue.scoring.checking import run_checks
from duologue.scoring.evidence import collect_evidence
from duologue.scoring.judge.attempt import judge_attempt
from duologue.scoring.judge.client import Judge
from duologue.scoring.judge.rounds import answer_rounds
from duologue.toolkit.evidence import ScoringMode
from duologue.trace.reader import Trace, load_trace

R = TypeVar("R", bound=Record)

logger = logging.getLogger(__name__)


async def judge_folder(folder: Path, judge: Judge) -> None:
    """Put a stored attempt to the judge and store what it says in the folder.

    An attempt that other trouble keeps from being evaluated is not put to the judge.

    Raises:
        TraceError: the trace is missing or damaged.
        RegistryError: the domain of the scenario is not there.
    """
    trace = readable_trace(folder)
    scenario = trace.header.scenario
    evidence = collect_evidence(trace, ScoringMode.DUOLOGUE)
    checked = run_checks(evidence, None)
    if evidence.problems or checked.problems:
        logger.info("not put to the judge: the attempt cannot be evaluated", extra={"scenario": scenario.name})
        return
    judgement = await answer_rounds(judge, evidence)
    if checked.grade is not None or judgement.replies:
        write_json(folder / JUDGEMENT, judgement.model_dump(mode="json"))
    if checked.grade is not None:
        return
    write_json(folder / JUDGE_RESULT, (await ask_about(trace, folder, judge)).model_dump(mode="json"))


def readable_trace(folder: Path) -> Trace:
    """Return the trace of a stored attempt, with its domain loaded.

    Raises:
        TraceError: the trace is missing or damaged.
        RegistryError: the domain of the scenario is not there.
    """
    trace = load_trace(folder / TRACE)
    load_domain(trace.header.scenario.domain)
    return trace


async def ask_about(trace: Trace, folder: Path, judge: Judge) -> JudgeResult:
    """Return what the judge says of a stored attempt, without storing it."""
    evidence = collect_evidence(trace, ScoringMode.DUOLOGUE)
    return await judge_attempt(judge, evidence, trace_digest(folder))


def load_judge_result(path: Path) -> JudgeResult | None:
    """Return a stored reply, or None when there is none.

    Raises:
        TraceError: the file is damaged, or is about another trace than the one beside it.
    """
    result = _load(path, JudgeResult)
    if result is not None and result.provenance.trace_digest != trace_digest(path.parent):
        raise TraceError(f"{path}: is about another trace than the one beside it; rescore with --judge to ask again")
    return result


def load_judgement(path: Path) -> Judgement | None:
    """Return the stored answers to a grader's questions, or None when there are none.

    Raises:
        TraceError: the file is damaged.
    """
    return _load(path, Judgement)


def trace_digest(folder: Path) -> str:
    """Return the SHA-256 of the trace in ``folder``."""
    return hashlib.sha256((folder / TRACE).read_bytes()).hexdigest()


def _load(path: Path, kind: type[R]) -> R | None:
    try:
        return kind.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise TraceError(f"{path}: cannot be read ({error.strerror or error})") from error
    except ValidationError as error:
        raise TraceError(f"{path}: not a judge's reply of this version; rescore with --judge to ask again") from error
