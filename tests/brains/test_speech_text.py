import pytest

from duologue.bots.brains.speech_text import SpeechText, speakable


def said(text: str, step: int) -> list[str]:
    speech, pieces = SpeechText(), []
    for start in range(0, len(text), step):
        pieces += speech.feed(text[start : start + step])
    return pieces + speech.finish()


@pytest.mark.parametrize(
    ("written", "spoken"),
    [
        ("# Hello! 😀", "Hello!"),
        ("- Turn **airplane mode** *off*", "Turn airplane mode off"),
        ("* [x] done 👍🏽", "done"),
        ("> a `quote` ~~gone~~ __here__", "a quote gone here"),
        ("Settings → Network -> APN", "Settings, Network, APN"),
        ("See [our page](http://a.b/(c)) now", "See our page now"),
        ("| plan | price |", "plan, price"),
        ("2 * 3 is 6, snake_case stays", "2 * 3 is 6, snake_case stays"),
        ("one<br>two", "one two"),
        ("It costs $3.50, 5°C, 100 €", "It costs $3.50, 5°C, 100 €"),
        ("555-123-2002", "555-123-2002"),
        ("¿Qué tal, señor? 好的。", "¿Qué tal, señor? 好的。"),
    ],
)
def test_markup_and_emoji_go_and_words_stay(written: str, spoken: str) -> None:
    assert speakable(written) == spoken


@pytest.mark.parametrize("line", ["---", "* * *", "```python", "|---|:--:|", "🎉", "**", "   ", "…"])
def test_lines_that_say_nothing_are_silent(line: str) -> None:
    assert speakable(line) == ""


@pytest.mark.parametrize("step", [1, 3, 7, 1000])
def test_sentences_do_not_depend_on_the_chunks(step: int) -> None:
    text = "Here is **what to do**:\n\n1. Turn it off. Then wait 3.5 seconds!\n2. Turn it *on*\n```\ncode\n```\nDone"
    assert said(text, step) == [
        "Here is what to do:",
        "1. Turn it off.",
        "Then wait 3.5 seconds!",
        "2. Turn it on.",
        "code.",
        "Done",
    ]


def test_sentence_is_given_before_the_next_is_written() -> None:
    assert SpeechText().feed("First one. And the sec") == ["First one."]
