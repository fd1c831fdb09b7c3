"""Conformance vectors of the scorer: one file with score, extraction, judge-reply, response and aggregation cases."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from duologue.errors import FixtureError, JudgeError
from duologue.toolkit.vectors import VECTOR_FORMATS, VectorFormat
from scenarios.voiceagentbench import aggregate
from scenarios.voiceagentbench.axes import extract_calls, score_task
from scenarios.voiceagentbench.catalogue import shipped_records
from scenarios.voiceagentbench.extras import response_match
from scenarios.voiceagentbench.judging import parse_score
from scenarios.voiceagentbench.records import TaskRecord, parse_record
from tools.voiceagentbench.manifest import DOMAIN

PROFILES = ("compat",)
_TOLERANCE = 1e-9
_ERROR = "error"

Case = Mapping[str, Any]


def is_vector_file(value: Any) -> bool:
    """Return whether a JSON value is a file of scorer cases."""
    return isinstance(value, dict) and value.get("profile") in PROFILES and any(kind in value for kind in _KINDS)


def cases_of(value: Case) -> Iterator[tuple[str, Any]]:
    """Yield (kind and id, case) for every case of a file.

    Raises:
        FixtureError: the file holds a list of cases of a kind that is not known.
    """
    unknown = [key for key in value if key.endswith("cases") and key not in _KINDS]
    if unknown:
        raise FixtureError(f"unknown kinds of cases: {', '.join(unknown)}; known: {', '.join(_KINDS)}")
    tolerance = float(value.get("tolerance", _TOLERANCE))
    for kind in _KINDS:
        for index, case in enumerate(value.get(kind, [])):
            place = f"{kind} {case.get('id', index)}"
            yield place, {"kind": kind, "tolerance": tolerance, "case": case}


def replay_case(record: Case) -> list[str]:
    """Compute one case and return every difference from what it expects."""
    case = record["case"]
    found = _KINDS[record["kind"]](case)
    return _differences(case["expected"], found, record["tolerance"], "")


@cache
def _shipped() -> dict[str, TaskRecord]:
    return {record.task_id: record for record in shipped_records()}


def _record(case: Case) -> TaskRecord:
    if "task_id" in case:
        if case["task_id"] not in _shipped():
            raise FixtureError(f"no shipped record has the task_id {case['task_id']!r}")
        return _shipped()[case["task_id"]]
    return parse_record({"task_id": "inline", "suite": "single", **case["task"]})


def _score(case: Case) -> dict[str, Any]:
    axes = score_task(
        _record(case),
        extract_calls(case.get("predicted_calls")),
        case.get("final_text") or "",
        user_turns=case.get("user_turns", 1),
        judge_score=case.get("judge_score"),
        error=case.get("error"),
        **({"threshold": case["threshold"]} if "threshold" in case else {}),
    )
    return {
        "tool_selection": axes.tool_selection,
        "parameter_match": axes.parameter_match,
        "coherence": axes.coherence,
        "safety": axes.safety,
        "total": axes.total,
        "passed": axes.passed,
    }


def _extraction(case: Case) -> list[dict[str, Any]]:
    return [call.as_json() for call in extract_calls(case["tool_calls"])]


def _judge_reply(case: Case) -> float | str:
    try:
        return parse_score(case["reply"])
    except JudgeError:
        return _ERROR


def _response(case: Case) -> float | None:
    return response_match(case["expected_response_substrings"], case["final_text"] or "")


def _aggregation(case: Case) -> dict[str, Any]:
    results = case["results"]
    ks = case["expected"].get("pass_at_k", {})
    hat_ks = case["expected"].get("pass_hat_k", {})
    return {
        "pass_at_1": aggregate.pass_at_k(results, 1),
        "pass_at_k": {k: aggregate.pass_at_k(results, int(k)) for k in ks},
        "pass_hat_k": {k: aggregate.pass_hat_k(results, int(k)) for k in hat_ks},
        "per_suite_pass_at_1": aggregate.rate_by(results, "suite"),
        "unweighted_suite_mean": aggregate.unweighted_suite_mean(results),
    }


def _means(case: Case) -> dict[str, float]:
    return aggregate.means(case["results"])


_KINDS: dict[str, Callable[[Case], Any]] = {
    "cases": _score,
    "extraction_cases": _extraction,
    "judge_reply_cases": _judge_reply,
    "response_match_cases": _response,
    "aggregation_cases": _aggregation,
    "mean_cases": _means,
}


def _differences(expected: Any, found: Any, tolerance: float, path: str) -> list[str]:
    """Return one line for each difference; numbers may differ by the tolerance, keys not expected are not compared."""
    if isinstance(expected, Mapping) and isinstance(found, Mapping) and "arguments" not in path:
        lines = [f"{path}{key}: missing" for key in expected if key not in found]
        if path.startswith("per_suite"):
            lines += [f"{path}{key}: not expected" for key in found if key not in expected]
        for key in expected.keys() & found.keys():
            lines += _differences(expected[key], found[key], tolerance, f"{path}{key}.")
        return sorted(lines)
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        pairs = enumerate(zip(expected, found, strict=True))
        return [line for at, (left, right) in pairs for line in _differences(left, right, tolerance, f"{path}{at}.")]
    same = expected == found and isinstance(expected, bool) == isinstance(found, bool)
    if not same and _is_number(expected) and _is_number(found):
        same = abs(expected - found) <= tolerance
    return [] if same else [f"{path.rstrip('.') or 'value'}: expected {expected!r}, found {found!r}"]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


VECTOR_FORMATS.register(
    DOMAIN, "scorer cases", VectorFormat(is_vector_file, replay_case, cases=cases_of), owner=__name__
)
