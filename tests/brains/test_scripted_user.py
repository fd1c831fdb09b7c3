import pytest

from duologue.brains.dialogue import CALLER_AGAIN, CALLER_DONE, CALLER_NOT_HAPPY, CALLER_NOTHING_DONE
from duologue.brains.reply import BrainCall, BrainReply
from duologue.brains.scripted_user import MAX_AGAIN, ScriptedUser
from duologue.toolkit.phrasebook import Phrasebook
from duologue.toolkit.vocabulary import vocabulary_of
from tests.brains.chat import called, heard, spoke

GREETED = [heard("Hello, thank you for calling. How can I help you today?"), spoke("Hello. My internet is slow.")]
FLIP = "Please tap the airplane mode button once."
FLIPPED = called("toggle_airplane_mode", {}, {"on": False})


@pytest.fixture
def caller(book: Phrasebook, facts: dict, phone_tools: list[str]):
    user = ScriptedUser(book, vocabulary_of("tau2_telecom"), facts)
    return lambda *messages: user.decide(list(messages), phone_tools)


def test_greeting_is_answered_with_the_symptom(caller) -> None:
    assert "internet" in caller(GREETED[0]).text


def test_every_request_wording_calls_exactly_its_tool(caller, book: Phrasebook) -> None:
    for request in book.requests:
        for wording in request.phrasings:
            reply = caller(*GREETED, heard(wording))
            assert reply == BrainReply(calls=(BrainCall(request.tool, dict(request.arguments)),)), wording


def test_every_question_is_answered_in_words(caller, book: Phrasebook) -> None:
    for question in book.questions:
        for wording in question.phrasings:
            reply = caller(*GREETED, heard(wording))
            assert reply.text, wording
            assert reply.text not in CALLER_AGAIN, wording
            assert not reply.calls


def test_no_tool_is_used_without_a_request(caller) -> None:
    for line in ("I see that your line is fine.", "Airplane mode can be a reason.", "One moment please."):
        assert not caller(*GREETED, heard(line)).calls


def test_a_tool_of_the_other_side_is_never_called(book: Phrasebook, facts: dict) -> None:
    assert not ScriptedUser(book, vocabulary_of("tau2_telecom"), facts).decide([*GREETED, heard(FLIP)], []).calls


def test_the_result_is_reported_as_the_phone_shows_it(caller) -> None:
    assert caller(*GREETED, heard(FLIP), *FLIPPED).text == "Airplane mode is now off."
    switched_on = called("toggle_airplane_mode", {}, {"on": True})
    assert caller(*GREETED, heard(FLIP), *switched_on).text == "Airplane mode is now on."


def test_unclear_words_are_asked_again_in_turn(caller) -> None:
    first = caller(*GREETED, heard("Bla blub."))
    assert first.text == CALLER_AGAIN[0]
    assert caller(*GREETED, heard("Bla blub."), spoke(first.text), heard("Blubber.")).text == CALLER_AGAIN[1]


def test_asking_again_ends_after_a_bound(caller) -> None:
    mess = [line for turn in range(MAX_AGAIN) for line in (heard("Blub."), spoke(CALLER_AGAIN[turn % 3]))]
    assert "Goodbye" in caller(*GREETED, *mess, heard("Blub.")).text


def test_asked_for_its_answer_it_repeats_the_whole_report(caller) -> None:
    cut = [*GREETED, heard(FLIP), *FLIPPED, spoke("Airplane")]
    assert caller(*cut, heard("What did you say? Please repeat it.")) == BrainReply("Airplane mode is now off.")


def test_asked_for_an_answer_it_never_understood_it_says_so(caller) -> None:
    lost = [*GREETED, heard("Blub."), spoke(CALLER_AGAIN[0])]
    assert caller(*lost, heard("Could you please repeat that?")).text == CALLER_NOTHING_DONE


def test_words_that_came_while_the_phone_worked_do_not_work_it_twice(caller) -> None:
    merged = [*GREETED, heard("Please tap the airplane"), heard("mode button once.")]
    assert caller(*merged).calls == (BrainCall("toggle_airplane_mode", {}),)
    assert caller(*merged, *FLIPPED, heard(FLIP)).text == "Airplane mode is now off."
    assert caller(*merged, *FLIPPED, heard("button once")).text == "Airplane mode is now off."


def test_a_running_tool_is_waited_for(caller) -> None:
    assert caller(*GREETED, heard(FLIP), *called("toggle_airplane_mode")) == BrainReply()


def test_a_request_is_found_after_news(caller) -> None:
    reply = caller(*GREETED, heard("I have booked two gigabytes for you. Please restart your phone."))
    assert reply.calls == (BrainCall("reboot_device", {}),)


def test_it_parts_once_and_then_stays_silent(caller) -> None:
    end = [*GREETED, heard("Is there anything else that I can help you with?")]
    assert caller(*end).text == CALLER_DONE
    assert caller(*end, spoke(CALLER_DONE), heard("Thank you for calling. Goodbye.")) == BrainReply()


def test_it_says_when_it_still_does_not_work(caller) -> None:
    slow = called("run_speed_test", {}, {"mbps": 0.2, "label": "Very Poor"})
    talk = [*GREETED, heard("Please do a speed test."), *slow, spoke("The speed test shows zero point two megabits.")]
    assert caller(*talk, heard("Is there anything else I can do for you?")).text == CALLER_NOT_HAPPY


def test_a_number_asked_for_again_is_spelled_another_way(caller) -> None:
    asked = heard("What is your phone number?")
    first = caller(*GREETED, asked).text
    again = heard("Sorry, I need your phone number again. Please say each digit slowly.")
    second = caller(*GREETED, asked, spoke(first), again).text
    assert first == "My phone number is five five five, one two three, two zero zero two."
    assert second == "My phone number is Five, five, five. One, two, three. Two, zero, zero, two."
