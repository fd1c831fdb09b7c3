import random

from duologue.text.noise import CLEAN, Noise, garble


def test_a_clean_line_changes_nothing() -> None:
    assert garble("Please restart your phone.", CLEAN, random.Random(1)) == "Please restart your phone."


def test_spoken_digits_become_one_figure() -> None:
    spoken = "My number is five, five, five. One, two, three."
    assert garble(spoken, Noise(digits=1.0), random.Random(1)) == "My number is 555123."


def test_every_word_can_be_lost() -> None:
    assert garble("Please restart your phone.", Noise(drop=1.0), random.Random(1)) == ""


def test_one_letter_of_a_word_is_damaged() -> None:
    heard = garble("restart", Noise(letter=1.0), random.Random(1))
    assert heard != "restart"
    assert abs(len(heard) - len("restart")) <= 1
