import pytest

from duologue.records.outcome import Cause, Outcome, OutcomeKind
from duologue.records.result import ScenarioResult
from duologue.reports.summary import render_text
from duologue.scoring.aggregate import aggregate_results
from duologue.scoring.repeats import pass_at_k, pass_hat_k, repeat_rates

LETTERS = {"p": OutcomeKind.PASSED, "f": OutcomeKind.FAILED, "n": OutcomeKind.NOT_EVALUABLE}


def result(scenario: str, attempt: int, letter: str) -> ScenarioResult:
    kind = LETTERS[letter]
    return ScenarioResult(
        run_id="r",
        attempt=attempt,
        seed=attempt - 1,
        scenario=f"shop__{scenario}",
        domain="shop",
        prefix="shop",
        family="",
        profile="default",
        scored_as="duologue",
        outcome=Outcome(kind=kind, cause=Cause.TRANSPORT if kind is OutcomeKind.NOT_EVALUABLE else None),
    )


def results(**trials: str) -> list[ScenarioResult]:
    """One letter for each trial: passed, failed, not evaluable."""
    return [
        result(name, number, letter)
        for name, letters in trials.items()
        for number, letter in enumerate(letters, start=1)
    ]


@pytest.mark.parametrize(
    ("trials", "passed", "k", "any_of", "all_of"),
    [
        (4, 2, 1, 1 / 2, 1 / 2),
        (4, 2, 2, 5 / 6, 1 / 6),
        (4, 2, 3, 1.0, 0.0),
        (4, 3, 2, 1.0, 1 / 2),
        (5, 1, 3, 3 / 5, 0.0),
        (3, 0, 2, 0.0, 0.0),
        (3, 3, 3, 1.0, 1.0),
    ],
)
def test_estimates_agree_with_counting_draws_by_hand(
    trials: int, passed: int, k: int, any_of: float, all_of: float
) -> None:
    assert pass_at_k(trials, passed, k) == pytest.approx(any_of)
    assert pass_hat_k(trials, passed, k) == pytest.approx(all_of)


@pytest.mark.parametrize("k", [0, 4])
def test_k_must_fit_the_trials(k: int) -> None:
    for estimate in (pass_at_k, pass_hat_k):
        with pytest.raises(ValueError, match="between 1 and"):
            estimate(3, 1, k)


def test_table_of_three_scenarios_and_four_trials() -> None:
    rates = repeat_rates(results(a="pppp", b="ppff", c="fffp"))
    assert [(rate.k, rate.scenarios) for rate in rates] == [(1, 3), (2, 3), (3, 3), (4, 3)]
    assert [rate.pass_at for rate in rates] == pytest.approx([7 / 12, (1 + 5 / 6 + 1 / 2) / 3, (2 + 3 / 4) / 3, 1.0])
    assert [rate.pass_hat for rate in rates] == pytest.approx([7 / 12, (1 + 1 / 6) / 3, 1 / 3, 1 / 3])


def test_attempt_that_is_not_evaluable_is_no_trial_and_its_scenario_is_named_as_left_out() -> None:
    rates = repeat_rates(results(a="pn", b="pf"))
    assert [(rate.k, rate.scenarios, rate.left_out) for rate in rates] == [(1, 2, 0), (2, 1, 1)]
    assert [rate.pass_hat for rate in rates] == pytest.approx([3 / 4, 0.0])


def test_nothing_evaluable_gives_no_rate() -> None:
    assert [(rate.pass_at, rate.pass_hat, rate.left_out) for rate in repeat_rates(results(a="nn"))] == [
        (None, None, 1),
        (None, None, 1),
    ]


def test_run_without_repeats_has_no_rates() -> None:
    assert repeat_rates(results(a="p", b="f")) == ()
    assert repeat_rates([]) == ()


def test_summary_shows_the_rates_of_repeats() -> None:
    everything = results(a="pp", b="pf")
    text = render_text(everything, aggregate_results(everything))
    assert "repeated k=2        pass@k 100.0%, pass^k 50.0% (2 scenarios, 0 left out)" in text
