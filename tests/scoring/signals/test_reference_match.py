from typing import Any

import pytest

from duologue.scoring.signals.matching import EXACT, MatchRules
from duologue.scoring.signals.reference_match import reference_match, scalars_close


@pytest.mark.parametrize(
    ("expected", "found"),
    [("9612497925", "9612497926"), ("02134", "2134"), ("1e3", "1000"), (True, "1"), (None, "None")],
)
def test_looks_alike_is_enough_for_the_reference_harness(expected: Any, found: Any) -> None:
    assert scalars_close(expected, found, EXACT)


def test_numbers_apart_by_more_than_the_tolerance_differ() -> None:
    assert not scalars_close(100.0, 100.1, EXACT)


def test_punctuation_is_removed_everywhere() -> None:
    assert scalars_close("$9.99", "999", MatchRules(ignore_punctuation=True))


def test_list_items_are_matched_first_fit() -> None:
    assert not reference_match([{"a": 1}, {"a": 1, "b": 2}], [{"a": 1, "b": 2}, {"a": 1}], EXACT, same_length=False)


def test_only_the_last_prediction_is_kept_for_a_single_reference() -> None:
    assert reference_match([{"a": 1}], [{"a": 2}, {"a": 1}], EXACT, same_length=False)
    assert not reference_match([{"a": 1}], [{"a": 1}, {"a": 2}], EXACT, same_length=False)


def test_strict_length_sees_the_outer_list_only() -> None:
    assert reference_match([{"actions": []}], [{"actions": [{"name": "x"}]}], EXACT, same_length=True)


def test_a_list_never_matches_a_scalar() -> None:
    assert not reference_match([{"a": [1]}], [{"a": 1}], EXACT, same_length=False)
