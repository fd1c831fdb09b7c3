from duologue.records.event import SpokenText
from duologue.scoring.transcript import Span, place_words
from duologue.toolkit.utterances import join_words
from tests.scoring.shop import AGENT, USER


def test_words_are_joined_with_one_space() -> None:
    assert join_words(["Hello ", "there", ",", " friend."]) == "Hello there, friend."


def test_word_goes_to_the_nearest_span_of_its_side() -> None:
    first, second = Span(AGENT, 0, 1000), Span(AGENT, 4000, 5000)
    other = Span(USER, 1500, 1600)
    words = [SpokenText(side=AGENT, text="early", t_ms=1500), SpokenText(side=AGENT, text="late", t_ms=3900)]
    assert place_words([first, other, second], words) == []
    assert (first.pieces, second.pieces, other.pieces) == (["early"], ["late"], [])


def test_word_far_from_speech_is_not_placed() -> None:
    [left] = place_words([Span(AGENT, 0, 1000)], [SpokenText(side=AGENT, text="lost", t_ms=4001)])
    assert left.text == "lost"


def test_cut_before_the_first_word_leaves_the_mark_alone() -> None:
    assert Span(AGENT, 0, 100, cut=True).text == "—"
