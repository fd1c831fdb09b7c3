import pytest

from duologue.scoring.judge.agreement import JudgedTwice, binary_agreement, compare_judges, score_difference
from tests.scoring.judged import judge_result


def test_kappa_is_cohens() -> None:
    pairs = [(True, True)] * 20 + [(False, False)] * 15 + [(True, False)] * 5 + [(False, True)] * 10
    figures = binary_agreement(pairs)
    assert (figures.items, figures.agreement) == (50, 0.7)
    assert figures.kappa == pytest.approx(0.4)


def test_kappa_of_opposites_is_minus_one() -> None:
    assert binary_agreement([(True, False), (False, True)]).kappa == -1.0


def test_kappa_is_undefined_when_both_always_say_the_same() -> None:
    figures = binary_agreement([(True, True)] * 3)
    assert (figures.agreement, figures.kappa) == (1.0, None)
    assert binary_agreement([]).agreement is None


def test_differences_of_scores_are_first_minus_second() -> None:
    figures = score_difference([(1.0, 0.5), (0.25, 0.5)])
    assert (figures.mean, figures.mean_absolute, figures.largest) == (0.125, 0.375, 0.5)


def test_attempts_and_statements_are_compared_apart() -> None:
    one = judge_result(0.95, claims={"A": True, "B": False})
    two = judge_result(0.85, claims={"A": True, "B": True})
    report = compare_judges("x", "y", [JudgedTwice("f", "s", one, two)])
    assert (report.attempts.only_first_passed, report.claims.both_passed, report.claims.only_second_passed) == (1, 1, 1)
    assert report.scores.largest == pytest.approx(0.1)
    assert [claim.first for claim in report.scenarios[0].claims] == [True, False]


def test_attempt_that_one_judge_did_not_decide_is_named_and_left_out() -> None:
    good, bad = judge_result(1.0), judge_result(None)
    other = judge_result(1.0, claims={"A": True})
    pairs = [("a", good, None), ("b", bad, good), ("c", good, other), ("d", good, good)]
    report = compare_judges("x", "y", [JudgedTwice(name, name, one, two) for name, one, two in pairs])
    assert (report.without_both, report.attempts.items) == (3, 1)
    assert [item.problem for item in report.scenarios] == [
        "the second judge has no stored reply",
        "the first judge gave no usable reply: it gave no usable reply",
        "the judges decided different statements",
        "",
    ]
