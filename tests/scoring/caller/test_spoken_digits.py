import pytest

from duologue.scoring.caller.spoken_digits import digit_runs, figures


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("five five five, one two three, two zero zero two", ["5551232002"]),
        ("Five, five, five. One, two, three. Two, zero, zero, two.", ["5551232002"]),
        ("It is (555) 123-2002.", ["5551232002"]),
        ("555.123.2002", ["5551232002"]),
        ("five fifty-five, one twenty-three, twenty oh two", ["5551232002"]),
        ("double five five", ["555"]),
        ("triple 5, one", ["5551"]),
        ("Oh, five five", ["55"]),
        ("five five oh dear", ["55"]),
        ("fifteen and twenty", ["15", "20"]),
        ("It is 5551232002, no, 5551232003", ["5551232002", "5551232003"]),
    ],
)
def test_digits_are_read_as_they_are_dictated(text: str, runs: list[str]) -> None:
    assert [run.digits for run in digit_runs(text)] == runs


@pytest.mark.parametrize(
    "text", ["two hundred", "seventy five point three four megabits", "5 dollars", "1,000,000", "2.5"]
)
def test_amounts_are_left_out(text: str) -> None:
    assert digit_runs(text) == ()


def test_run_knows_what_was_said_around_it() -> None:
    run = digit_runs("My zip code is 1 2 3 4 5, thanks.")[0]
    assert (run.before, run.digits, run.after) == ("My zip code is ", "12345", "thanks.")


def test_figures_find_written_and_spoken_numbers() -> None:
    assert {"5551232002", "42"} <= set(figures("Call 555-123-2002, or four two."))
