import pytest

from duologue.brains.matching import best_match, contains, similarity, tokens

SWITCHES = {"leave": ("Please leave the VPN and shut it down.",), "build": ("Please build up a new VPN tunnel.",)}


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("555-1232", "five five five one two three two"),
        ("4G", "four g"),
        ("2,002", "two zero zero two"),
        ("V P N", "vpn"),
        ("V.P.N.", "vpn"),
        ("Wi-Fi", "wifi"),
        ("Hi, it's okay", "hello its ok"),
    ],
)
def test_spellings_of_the_same_words_are_equal(written: str, spoken: str) -> None:
    assert tokens(written) == tokens(spoken)


def test_a_wording_is_found_among_other_sentences() -> None:
    heard = "Your line is active again. please leave the v p n and shut it down thank you"
    assert similarity(heard, "Please leave the VPN and shut it down.") == 100.0


def test_garbled_words_still_match_the_right_key() -> None:
    match = best_match("please believe the VPN and shut down", SWITCHES)
    assert match is not None
    assert match.key == "leave"
    assert match.is_clear(70, 10)


def test_two_keys_that_fit_equally_are_not_clear() -> None:
    match = best_match("the VPN", {"one": ("the VPN",), "two": ("the V P N",)})
    assert match is not None
    assert not match.is_clear(70, 4)


def test_silence_matches_nothing() -> None:
    assert best_match("...", SWITCHES) is None


def test_containing_needs_every_word_in_order() -> None:
    assert contains("Thank you. Goodbye, then.", "goodbye then")
    assert not contains("Thank you, then goodbye.", "goodbye then")


def test_the_longer_of_two_nested_wordings_wins() -> None:
    switches = {"wifi": ("Please toggle Wi-Fi.",), "calling": ("Please toggle Wi-Fi calling.",)}
    longer, shorter = best_match("Please toggle Wi-Fi calling.", switches), best_match("please toggle wifi", switches)
    assert longer is not None
    assert (longer.key, longer.is_clear(70, 4)) == ("calling", True)
    assert shorter is not None
    assert (shorter.key, shorter.is_clear(70, 4)) == ("wifi", True)
