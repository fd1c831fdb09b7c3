from duologue.records.action import Side
from duologue.records.event import BotSpeaking, SpokenText, ToolCalled
from duologue.toolkit.utterances import Utterance, read_deeds
from tests.scoring.shop import AGENT, USER


def said(side: Side, text: str, t_ms: int, seq: int = 1) -> SpokenText:
    return SpokenText(side=side, text=text, t_ms=t_ms, seq=seq)


def texts(*events: object) -> list[str]:
    return [deed.text for deed in read_deeds(events) if isinstance(deed, Utterance)]  # type: ignore[arg-type]


def test_words_of_one_side_are_one_utterance_until_the_other_speaks() -> None:
    assert texts(said(USER, "five ", 0), said(USER, "six", 300), said(AGENT, "Yes?", 600), said(USER, "two", 900)) == [
        "five six",
        "Yes?",
        "two",
    ]


def test_break_in_does_not_cut_an_utterance_that_goes_on() -> None:
    speaking = BotSpeaking(side=USER, speaking=True)
    events = (speaking, said(USER, "five", 0), said(AGENT, "Yes?", 100), said(USER, "six", 200))
    assert texts(*events) == ["five six", "Yes?"]


def test_long_pause_and_own_tool_call_end_an_utterance() -> None:
    call = ToolCalled(side=USER, call_id="1", name="pay")
    events = (said(USER, "a", 0), said(USER, "b", 4000), call, said(USER, "c", 4100))
    assert texts(*events) == ["a", "b", "c"]
