import random

import pytest

from duologue.records.outcome import Cause, Outcome, OutcomeKind, Verdict
from duologue.records.result import ConversationFigures, LatencyReport, ResponseLatency, ScenarioResult
from duologue.reports.summary import render_text
from duologue.scoring.aggregate import aggregate_results, rate_of, wilson_interval

PASSED = Outcome(kind=OutcomeKind.PASSED)
FAILED = Outcome(kind=OutcomeKind.FAILED)
LOST = Outcome(kind=OutcomeKind.NOT_EVALUABLE, cause=Cause.TRANSPORT)


def result(name: str, outcome: Outcome, **changes: object) -> ScenarioResult:
    values: dict[str, object] = {
        "run_id": "run",
        "attempt": 1,
        "seed": 0,
        "scenario": name,
        "domain": "shop",
        "prefix": name.split("__")[0],
        "family": "f",
        "profile": "default",
        "scored_as": "duologue",
        "outcome": outcome,
        "is_task_successful": {"passed": True, "failed": False}.get(outcome.kind.value),
    }
    return ScenarioResult.model_validate({**values, **changes})


def verdict(signal: str, passed: bool | None, **evidence: object) -> Verdict:
    return Verdict(signal=signal, version=1, passed=passed, evidence=evidence)


def test_rates_leave_out_what_is_not_evaluable() -> None:
    overall = aggregate_results([result("a__1", PASSED), result("a__2", FAILED), result("a__3", LOST)]).overall
    assert (overall.success.passed, overall.success.total) == (1, 2)
    assert overall.evaluability.rate == pytest.approx(2 / 3)
    assert overall.causes == {"transport": 1}
    assert overall.outcomes == {"passed": 1, "failed": 1, "not_evaluable": 1}


def test_prefixes_and_families_have_their_own_figures() -> None:
    run = aggregate_results([result("a__1", PASSED), result("b__1", FAILED), result("b__2", PASSED, family="g")])
    assert {name: group.success.rate for name, group in run.prefixes.items()} == {"a": 1.0, "b": 0.5}
    assert sorted(run.families) == ["a/f", "b/f", "b/g"]


@pytest.mark.parametrize(
    ("passed", "total", "low", "high"), [(0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (5, 10, 0.2366, 0.7634)]
)
def test_wilson_interval_has_the_textbook_values(passed: int, total: int, low: float, high: float) -> None:
    assert wilson_interval(passed, total) == pytest.approx((low, high), abs=1e-4)


def test_rate_of_nothing_is_unknown() -> None:
    assert rate_of(0, 0).rate is None


def test_predicates_are_counted_one_by_one_and_other_signals_per_attempt() -> None:
    parts = [{"passed": True}, {"passed": False}, {"passed": True}]
    verdicts = [
        verdict("db_state_assertion", False, verdicts=parts),
        verdict("clean_exit", True),
        verdict("nl_assertion", None),
    ]
    signals = aggregate_results([result("a__1", FAILED, verdicts=verdicts)]).overall.signals
    assert {name: (rate.passed, rate.total) for name, rate in signals.items()} == {
        "clean_exit": (1, 1),
        "db_state_assertion": (2, 3),
    }


def test_too_few_turns_leave_signal_rates_but_count_as_failure() -> None:
    quiet = result("a__1", FAILED, verdicts=[verdict("clean_exit", True)], insufficient_agent_turns=True)
    overall = aggregate_results([quiet]).overall
    assert (overall.signals, overall.success.total) == ({}, 1)


def test_latencies_are_pooled_over_attempts() -> None:
    def with_latency(name: str, *values: int) -> ScenarioResult:
        responses = tuple(
            ResponseLatency(user_text="", agent_text="", user_end_ms=0, agent_start_ms=value, latency_ms=value)
            for value in values
        )
        report = LatencyReport(measured=True, responses=responses, early=1)
        return result(name, PASSED, conversation=ConversationFigures(latency=report))

    latency = aggregate_results([with_latency("a__1", 300, 100), with_latency("a__2", 200)]).overall.latency
    assert (latency.stats.count, latency.stats.p50_ms, latency.percentiles.p50_ms, latency.early) == (3, 200, 200, 2)


def test_no_latency_is_minus_one_over_the_run() -> None:
    assert aggregate_results([result("a__1", LOST)]).overall.latency.stats.mean_ms == -1


def test_order_of_results_does_not_matter() -> None:
    results = [result(f"a__{index}", PASSED if index % 3 else LOST) for index in range(9)]
    shuffled = random.Random(1).sample(results, len(results))
    assert aggregate_results(results) == aggregate_results(shuffled)


def test_empty_run_has_no_rates() -> None:
    assert aggregate_results([]).overall.success.rate is None


STREET, FAR = ({"name": "street", "both": {"noise": {"level_dbfs": -40}}}, {"name": "far", "both": {"delay_ms": 200}})


def test_each_line_has_its_own_figures() -> None:
    run = aggregate_results(
        [result("a__1", PASSED), result("a__1", FAILED, line=STREET), result("a__2", PASSED, line=STREET)]
    )
    assert {name: group.success.rate for name, group in run.lines.items()} == {"clean": 1.0, "street": 0.5}
    assert run.overall.attempts == 3
    assert run.model_dump()["lines"]["street"]["attempts"] == 2


def test_clean_run_says_nothing_of_lines() -> None:
    run = aggregate_results([result("a__1", PASSED)])
    assert run.lines == {}
    assert "lines" not in run.model_dump()


def test_lines_of_one_name_are_told_apart() -> None:
    other = {**STREET, "both": {"noise": {"level_dbfs": -30}}}
    run = aggregate_results([result("a__1", PASSED, line=STREET), result("a__1", FAILED, line=other)])
    assert len(run.lines) == 2
    assert all(name.startswith("street ") and group.attempts == 1 for name, group in run.lines.items())


def test_trials_over_another_line_are_no_repetition() -> None:
    over = [result("a__1", PASSED), result("a__1", FAILED, line=STREET), result("a__1", PASSED, line=FAR)]
    assert aggregate_results(over).overall.repeats == ()
    twice = aggregate_results([*over, result("a__1", PASSED, attempt=2, line=FAR)]).overall.repeats
    assert [(rate.k, rate.scenarios, rate.pass_at) for rate in twice] == [(1, 3, pytest.approx(2 / 3)), (2, 1, 1.0)]


def test_summary_shows_the_rate_of_each_line_and_the_line_of_each_attempt() -> None:
    results = [result("a__1", PASSED), result("a__1", FAILED, line=STREET)]
    text = render_text(results, aggregate_results(results))
    assert "[line clean]\n  successful          1/1" in text
    assert "[line street]\n  successful          0/1" in text
    assert "a__1 (attempt 1, line street): failed" in text
    assert "a__1 (attempt 1): passed" in text
