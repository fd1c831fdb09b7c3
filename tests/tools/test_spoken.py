import pytest

from tools.tau2_telecom.spoken import amount, joined, spelled


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0, "zero"),
        (2.0, "two"),
        ("65.0", "sixty five"),
        (275, "two hundred seventy five"),
        (0.05, "zero point zero five"),
        (1015.5, "one thousand fifteen point five"),
        (-3, "minus three"),
    ],
)
def test_amounts_are_words(value: float | str, words: str) -> None:
    assert amount(value) == words


def test_digits_are_spelled_in_their_groups() -> None:
    assert spelled("555-12") == "five five five, one two"
    assert spelled("555-12", slowly=True) == "Five, five, five. One, two"


def test_lists_end_with_and() -> None:
    assert joined([]) == ""
    assert joined(["a", "b", "c"]) == "a, b and c"
