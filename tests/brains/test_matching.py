import pytest

from duologue.brains.matching import best_match, contains, similarity, tokens
from duologue.registry import load_domain
from duologue.toolkit.vocabulary import PLAIN, Vocabulary, vocabulary_of

SWITCHES = {"leave": ("Please leave the VPN and shut it down.",), "build": ("Please build up a new VPN tunnel.",)}
PHONE = Vocabulary(joined={("wi", "fi"): "wifi"}, spellings={"mobil": "mobile"})


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("555-1232", "five five five one two three two"),
        ("4G", "four g"),
        ("2,002", "two zero zero two"),
        ("V P N", "vpn"),
        ("V.P.N.", "vpn"),
        ("Hi, it's okay", "hello its ok"),
    ],
)
def test_spellings_of_the_same_words_are_equal(written: str, spoken: str) -> None:
    assert tokens(written, PLAIN) == tokens(spoken, PLAIN)


def test_a_wording_is_found_among_other_sentences() -> None:
    heard = "Your line is active again. please leave the v p n and shut it down thank you"
    assert similarity(heard, "Please leave the VPN and shut it down.", PLAIN) == 100.0


def test_garbled_words_still_match_the_right_key() -> None:
    match = best_match("please believe the VPN and shut down", SWITCHES, PLAIN)
    assert match is not None
    assert match.key == "leave"
    assert match.is_clear(70, 10)


def test_two_keys_that_fit_equally_are_not_clear() -> None:
    match = best_match("the VPN", {"one": ("the VPN",), "two": ("the V P N",)}, PLAIN)
    assert match is not None
    assert not match.is_clear(70, 4)


def test_silence_matches_nothing() -> None:
    assert best_match("...", SWITCHES, PLAIN) is None


def test_containing_needs_every_word_in_order() -> None:
    assert contains("Thank you. Goodbye, then.", "goodbye then", PLAIN)
    assert not contains("Thank you, then goodbye.", "goodbye then", PLAIN)


def test_the_longer_of_two_nested_wordings_wins() -> None:
    switches = {"wifi": ("Please toggle Wi-Fi.",), "calling": ("Please toggle Wi-Fi calling.",)}
    longer = best_match("Please toggle Wi-Fi calling.", switches, PHONE)
    shorter = best_match("please toggle wifi", switches, PHONE)
    assert longer is not None
    assert (longer.key, longer.is_clear(70, 4)) == ("calling", True)
    assert shorter is not None
    assert (shorter.key, shorter.is_clear(70, 4)) == ("wifi", True)


@pytest.mark.parametrize(("written", "heard"), [("Wi-Fi", "wifi"), ("the mobile", "the mobil")])
def test_words_of_a_domain_are_equal_in_its_vocabulary_only(written: str, heard: str) -> None:
    assert tokens(written, PHONE) == tokens(heard, PHONE)
    assert tokens(written, PLAIN) != tokens(heard, PLAIN)


def test_telecom_knows_its_spellings_and_other_domains_do_not() -> None:
    load_domain("tau2_telecom")
    telecom, other = vocabulary_of("tau2_telecom"), vocabulary_of("voiceagentbench")
    assert tokens("why fi, aeroplane, re boot", telecom) == ("wifi", "airplane", "reboot")
    assert tokens("why fi, aeroplane", other) == ("why", "fi", "aeroplane")
