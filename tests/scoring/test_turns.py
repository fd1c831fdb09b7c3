from pathlib import Path

from duologue.records.action import Side
from duologue.records.conditions import LineConditions
from duologue.records.event import BotSpeaking, Interrupted, SpokenText, ToolCalled
from duologue.records.result import ConversationFigures, Turn
from duologue.scoring.turns import at_the_caller, build_conversation, count_agent_turns, load_segments
from duologue.testing.builders import TraceBuilder, write_recording
from tests.scoring.shop import AGENT, USER, shop_scenario

Stretches = list[tuple[int, int]]


def builder() -> TraceBuilder:
    return TraceBuilder(shop_scenario())


def heard(trace: TraceBuilder, folder: Path, *, agent: Stretches, user: Stretches) -> ConversationFigures:
    write_recording(folder / "call.wav", agent=agent, user=user, length_ms=20_000)
    return build_conversation(trace.build(), load_segments(folder / "call.wav"))


def shape(conversation: ConversationFigures) -> list[tuple[Side, int, int]]:
    return [(turn.side, turn.start_ms, turn.end_ms) for turn in conversation.turns]


def test_turns_lie_where_speech_is_on_the_recording(tmp_path: Path) -> None:
    trace = builder().say(AGENT, "Hello there.", 1050, 1900).say(USER, "My phone is dead.", 3100, 4500)
    found = heard(trace, tmp_path, agent=[(1000, 2000)], user=[(3000, 4500)])
    assert shape(found) == [(AGENT, 1000, 2000), (USER, 3000, 4500)]
    assert [turn.text for turn in found.turns] == ["Hello there.", "My phone is dead."]


def test_pauses_inside_a_turn_do_not_split_it(tmp_path: Path) -> None:
    trace = builder().say(AGENT, "One. Two.", 1000, 4000)
    assert shape(heard(trace, tmp_path, agent=[(1000, 2000), (3000, 4000)], user=[])) == [(AGENT, 1000, 4000)]


def test_long_silence_of_the_same_side_starts_a_new_turn(tmp_path: Path) -> None:
    found = heard(builder(), tmp_path, agent=[(1000, 2000), (6000, 7000)], user=[])
    assert len(found.turns) == 2


def test_an_answer_in_between_splits_a_turn(tmp_path: Path) -> None:
    trace = builder().say(AGENT, "Ready?", 1000, 2000).say(USER, "Yes.", 2300, 2600).say(AGENT, "Good.", 3000, 4000)
    found = heard(trace, tmp_path, agent=[(1000, 2000), (3000, 4000)], user=[(2300, 2600)])
    assert [turn.text for turn in found.turns] == ["Ready?", "Yes.", "Good."]


def test_a_word_over_a_pause_does_not_split_an_utterance_that_goes_on(tmp_path: Path) -> None:
    trace = builder().say(AGENT, "First this. Then that.", 1000, 5000).say(USER, "Okay.", 2700, 3100)
    found = heard(trace, tmp_path, agent=[(1000, 2800), (3200, 5000)], user=[(2700, 3100)])
    assert shape(found) == [(AGENT, 1000, 5000), (USER, 2700, 3100)]


def test_a_bot_without_speaking_reports_is_taken_at_its_silence(tmp_path: Path) -> None:
    found = heard(builder(), tmp_path, agent=[(1000, 2000), (3000, 4000)], user=[(2200, 2800)])
    assert [side for side, *_ in shape(found)] == [AGENT, USER, AGENT]


def test_interruption_is_cut_marked_and_measured(tmp_path: Path) -> None:
    trace = builder().add(BotSpeaking(side=AGENT, speaking=True), t_ms=1000)
    for at, word in ((1000, "I "), (2000, "will "), (3000, "now ")):
        trace.add(SpokenText(side=AGENT, text=word), t_ms=at)
    trace.add(Interrupted(side=AGENT), t_ms=3300)
    found = heard(trace, tmp_path, agent=[(1000, 3400)], user=[(3000, 5000)])
    assert found.turns[0].text == "I will now —"
    assert found.turns[0].cut
    [interruption] = found.interruptions
    assert (interruption.side, interruption.by, interruption.start_ms, interruption.yield_ms) == (
        AGENT,
        USER,
        3000,
        400,
    )
    assert [(item.start_ms, item.end_ms, item.by) for item in found.overlaps] == [(3000, 3400, USER)]


def test_interruption_report_of_a_silent_bot_cuts_nothing(tmp_path: Path) -> None:
    trace = builder().say(AGENT, "Done.", 1000, 2000).add(Interrupted(side=AGENT), t_ms=3000)
    found = heard(trace, tmp_path, agent=[(1000, 2000)], user=[(2900, 4000)])
    assert (found.turns[0].text, found.interruptions) == ("Done.", ())


def test_interruption_report_without_speech_of_the_other_side_cuts_nothing(tmp_path: Path) -> None:
    trace = builder().say(AGENT, "Done.", 1000, 2000).add(Interrupted(side=AGENT), t_ms=1900)
    assert heard(trace, tmp_path, agent=[(1000, 2000)], user=[]).interruptions == ()


def test_bot_that_speaks_on_was_not_cut(tmp_path: Path) -> None:
    trace = builder().add(SpokenText(side=AGENT, text="On and on."), t_ms=1500).add(Interrupted(side=AGENT), t_ms=2000)
    found = heard(trace, tmp_path, agent=[(1000, 9000)], user=[(1800, 2400)])
    assert (found.turns[0].cut, found.interruptions) == (False, ())


def test_words_without_sound_are_kept_apart(tmp_path: Path) -> None:
    trace = builder().say(AGENT, "Hello.", 1000, 2000).add(SpokenText(side=AGENT, text="Never heard."), t_ms=9000)
    found = heard(trace, tmp_path, agent=[(1000, 2000)], user=[])
    assert [turn.text for turn in found.turns] == ["Hello."]
    assert [(item.t_ms, item.text) for item in found.unplaced] == [(9000, "Never heard.")]


def test_sound_without_words_is_a_turn_without_text(tmp_path: Path) -> None:
    assert heard(builder(), tmp_path, agent=[], user=[(1000, 1300)]).turns[0].text == ""


def test_without_a_recording_words_make_the_turns() -> None:
    trace = builder().say(AGENT, "Hello there.", 0, 1000).say(USER, "Hi.", 2000, 2500).say(AGENT, "Bye.", 3000, 3500)
    found = build_conversation(trace.build(), None)
    assert [(turn.side, turn.text) for turn in found.turns] == [(AGENT, "Hello there."), (USER, "Hi."), (AGENT, "Bye.")]
    assert not found.latency.measured


def test_agent_turns_count_speech_and_tools_between_two_user_turns_once() -> None:
    trace = builder()
    for at in (500, 600, 3000):
        trace.events.append(ToolCalled(side=AGENT, call_id=str(at), name="get_price", t_ms=at))
    turns = [Turn(side=AGENT, start_ms=0, end_ms=400), Turn(side=USER, start_ms=1000, end_ms=2000)]
    assert count_agent_turns(trace.build(), turns) == 2
    assert count_agent_turns(builder().build(), []) == 0


def over_line(**to_user: object) -> TraceBuilder:
    line = LineConditions.model_validate({"name": "test", "to_user": to_user})
    return TraceBuilder(shop_scenario(line=line))


def test_agent_is_timed_where_its_sound_arrives_at_the_caller(tmp_path: Path) -> None:
    info = write_recording(tmp_path / "said.wav", user=[(1000, 2000)], agent=[(3000, 4000)], length_ms=6000)
    trace = over_line(delay_ms=500).say(USER, "Is it cold?", 1000, 2000).say(AGENT, "Yes.", 3000, 4000).build()
    segments = load_segments(info.path, to_user_ms=500)
    found = build_conversation(at_the_caller(trace), segments)
    assert shape(found) == [(USER, 1000, 2000), (AGENT, 3500, 4500)]
    assert [turn.text for turn in found.turns] == ["Is it cold?", "Yes."]
    assert [response.latency_ms for response in found.latency.responses] == [1500]


def test_yield_is_as_long_as_the_caller_hears_on(tmp_path: Path) -> None:
    info = write_recording(tmp_path / "said.wav", agent=[(1000, 3000)], user=[(2500, 4000)], length_ms=6000)
    trace = over_line(delay_ms=400).say(AGENT, "I will", 1000, 2900).add(Interrupted(side=AGENT), t_ms=2900)
    trace.say(USER, "Stop.", 2500, 4000)
    (cut,) = build_conversation(at_the_caller(trace.build()), load_segments(info.path, to_user_ms=400)).interruptions
    assert (cut.start_ms, cut.yield_ms) == (2500, 900)


def test_line_without_delay_moves_nothing() -> None:
    trace = over_line(noise={"level_dbfs": -40}).say(AGENT, "Yes.", 1000, 2000).build()
    assert at_the_caller(trace) is trace
