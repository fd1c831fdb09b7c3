from typing import Any

import pytest

from duologue.scoring.signals.matching import MatchRules, assign, normalized_text, values_match


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        ("9612497925", "9612497926"),
        ("3145278960", "3145290000"),
        (3145278960, 3145290000),
        ("02134", "2134"),
        ("1e3", "1000"),
        (True, "1"),
        (True, 1),
        (1, True),
        (False, 0),
        (None, "None"),
        ("None", None),
        (None, False),
        (2, "2"),
        (1.0, 1.00001),
        ("", None),
    ],
)
def test_values_that_only_look_alike_differ(expected: Any, found: Any) -> None:
    assert not values_match(expected, found)


@pytest.mark.parametrize(
    ("expected", "found"),
    [(1, 1.0), (-0.0, 0), (True, True), (None, None), ("é", "é"), ({"a": [1, 2]}, {"a": [2.0, 1]}), ([], [])],
)
def test_values_of_one_kind_are_equal(expected: Any, found: Any) -> None:
    assert values_match(expected, found)


@pytest.mark.parametrize(
    ("expected", "found"),
    [({"a": 1}, {"a": 1, "b": 2}), ({"a": 1, "b": 2}, {"a": 1}), ([1], [1, 2]), ([1, 1], [1, 2]), ([1], 1), ({}, [])],
)
def test_objects_and_lists_have_no_more_and_no_less(expected: Any, found: Any) -> None:
    assert not values_match(expected, found)


def test_assignment_backtracks_where_first_fit_fails() -> None:
    expected, found = [{"a": 1}, {"a": 1, "b": 2}], [{"a": 1, "b": 2}, {"a": 1}]
    placed = assign(2, found, lambda row, item: expected[row].items() <= item.items())
    assert placed == [1, 0]


def test_assignment_gives_each_item_away_once() -> None:
    assert assign(2, ["x"], lambda row, item: True) == [0, None]


def test_text_is_compared_to_the_character_unless_told_otherwise() -> None:
    assert not values_match("A1", "a1")
    assert values_match("A1", "a1", MatchRules(ignore_capitalization=True))
    assert values_match(" two  words ", "two words", MatchRules(clean_text=True))


@pytest.mark.parametrize(("expected", "found"), [("$9.99", "999"), ("-5", "5"), ("1.5", "15"), ("10:30", "1030")])
def test_punctuation_inside_a_number_is_kept(expected: str, found: str) -> None:
    assert not values_match(expected, found, MatchRules(ignore_punctuation=True))


def test_punctuation_around_words_can_be_ignored() -> None:
    assert normalized_text("Hello, world!", MatchRules(ignore_punctuation=True)) == "Hello world"
