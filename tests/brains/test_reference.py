from typing import Any

import pytest

from duologue.brains.dialogue import AGENT_AGAIN, AGENT_ANYTHING_ELSE, AGENT_CLOSING, CALLER_AGAIN
from duologue.brains.reference import MAX_NUDGES, MAX_NUMBER_REQUESTS, Reference
from duologue.brains.reply import BrainCall, BrainReply
from duologue.errors import ConfigError
from duologue.toolkit.phrasebook import Phrasebook
from duologue.toolkit.tool import END_CALL_TOOL
from duologue.toolkit.vocabulary import vocabulary_of
from tests.brains.chat import called, heard, spoke

NUMBER = "Please tell me your phone number, digit by digit."
FLIP = "Please tap the airplane mode button once."
FOUND = [heard("It is slow."), spoke(NUMBER), heard("555 123 2002")]
LOOKED_UP = called("get_customer_by_phone", {"phone_number": "555-123-2002"}, {"customer_id": "C1001"})
LINE = {"customer_id": "C1001", "line_id": "L1002"}
FLIP_STEP = {"side": "user", "name": "toggle_airplane_mode", "arguments": {}}
ROAM_STEP = {"side": "agent", "name": "enable_roaming", "arguments": LINE}
REFUEL_STEP: dict[str, Any] = {"side": "agent", "name": "refuel_data", "arguments": {**LINE, "gb_amount": 2.0}}
TRANSFER_STEP = {"side": "agent", "name": "transfer_to_human_agents", "arguments": {"summary": "*"}}


@pytest.fixture
def agent(book: Phrasebook):
    def decide(plan: list[dict], *messages: dict) -> BrainReply:
        start = [heard("Hello"), spoke(book.greeting), *FOUND, *LOOKED_UP]
        return Reference(book, vocabulary_of("tau2_telecom"), plan, "mobile_data_issue").decide([*start, *messages], [])

    return decide


def test_it_greets_first_and_then_asks_who_calls(book: Phrasebook) -> None:
    brain = Reference(book, vocabulary_of("tau2_telecom"), [], "mobile_data_issue")
    assert brain.decide([heard("Hello")], []).text == book.greeting
    assert brain.decide([heard("Hello"), spoke(book.greeting), heard("It is slow.")], []).text == NUMBER


@pytest.mark.parametrize("words", ["5 5 5 1 2 3 2 0 0 2", "555-123-2002.", "five five five one two three two oh oh 2"])
def test_the_heard_number_is_looked_up(book: Phrasebook, words: str) -> None:
    talk = [heard("Hello"), spoke(book.greeting), heard("Slow."), spoke(NUMBER), heard(f"My phone number is {words}")]
    call = BrainCall("get_customer_by_phone", {"phone_number": "555-123-2002"})
    assert Reference(book, vocabulary_of("tau2_telecom"), [], "mms_issue").decide(talk, []) == BrainReply(calls=(call,))


def test_a_number_that_cannot_be_heard_ends_with_the_name(book: Phrasebook) -> None:
    talk = [heard("Hello"), spoke(book.greeting), heard("Slow.")]
    brain = Reference(book, vocabulary_of("tau2_telecom"), [FLIP_STEP], "mms_issue")
    for _ in range(MAX_NUMBER_REQUESTS):
        talk += [spoke(brain.decide(talk, []).text), heard("My number is 5551-2322.")]
    name = brain.decide(talk, []).text
    assert name == "What is your full name?"
    assert brain.decide([*talk, spoke(name), heard("Jon Smiss.")], []).text == FLIP


def test_an_unknown_number_is_asked_again(book: Phrasebook) -> None:
    missing = called("get_customer_by_phone", {"phone_number": "555-123-2002"}, {"status": "error", "message": "no"})
    talk = [heard("Hello"), spoke(book.greeting), *FOUND, *missing]
    assert (
        Reference(book, vocabulary_of("tau2_telecom"), [], "mms_issue").decide(talk, []).text
        == book.identification.again
    )


def test_a_step_of_the_caller_is_asked_for_and_then_confirmed(agent) -> None:
    assert agent([FLIP_STEP]).text == FLIP
    assert agent([FLIP_STEP], spoke(FLIP), heard("air plane mode is now of")).text.startswith("Please run a speed test")


def test_an_unclear_report_is_asked_for_again_without_a_new_request(agent) -> None:
    assert agent([FLIP_STEP], spoke(FLIP), heard("Blub blub.")).text == AGENT_AGAIN[1]


def test_a_request_that_was_not_understood_is_made_again_in_other_words(agent) -> None:
    reply = agent([FLIP_STEP], spoke(FLIP), heard(CALLER_AGAIN[0]))
    assert reply.text == "Switch your airplane mode over, please."


def test_a_request_that_was_cut_off_is_made_again(agent) -> None:
    assert agent([FLIP_STEP], spoke("Please tap the"), heard("Hello?")).text == FLIP


def test_own_steps_are_taken_and_then_told(agent) -> None:
    assert agent([ROAM_STEP, FLIP_STEP]).calls == (BrainCall("enable_roaming", LINE),)
    done = called("enable_roaming", LINE, {"changed": True}, "2")
    assert agent([ROAM_STEP, FLIP_STEP], *done).text == f"Your line may now be used abroad. {FLIP}"


def test_data_is_added_after_asking(agent) -> None:
    question = agent([REFUEL_STEP]).text
    assert question == "May I add two gigabytes of data to your line?"
    assert agent([REFUEL_STEP], spoke(question), heard("Yes.")).calls == (
        BrainCall("refuel_data", REFUEL_STEP["arguments"]),
    )


def test_a_cancelled_write_is_not_repeated(agent) -> None:
    lost = called("enable_roaming", LINE, "CANCELLED", "2")
    assert agent([ROAM_STEP, FLIP_STEP], *lost, heard("Hello?")).calls == ()


def test_a_plan_of_failing_steps_comes_to_an_end(agent) -> None:
    talk: list[dict] = []
    for _ in range(60):
        reply = agent([FLIP_STEP, FLIP_STEP], *talk)
        if reply.calls:
            break
        talk += [spoke(reply.text), heard("That did not work. My phone says: there was an error.")]
    assert reply == BrainReply(AGENT_CLOSING, (BrainCall(END_CALL_TOOL, {}),))


def test_silence_is_asked_about_and_then_ended(agent) -> None:
    talk = [spoke(FLIP)]
    for _ in range(MAX_NUDGES):
        talk.append(spoke(agent([FLIP_STEP], *talk).text))
    assert agent([FLIP_STEP], *talk).calls == (BrainCall(END_CALL_TOOL, {}),)


def test_a_transfer_is_announced_and_made_in_one_reply(agent, book: Phrasebook) -> None:
    reply = agent([TRANSFER_STEP])
    assert reply.text == book.transfers["transfer_to_human_agents"]
    assert reply.calls == (BrainCall("transfer_to_human_agents", {"summary": "It is slow."}),)


def test_it_closes_once_and_stays_silent_after_the_end(agent) -> None:
    check = [spoke("Please run a speed test and tell me the result."), heard("The speed test shows 275 megabits.")]
    assert agent([], *check).text == AGENT_ANYTHING_ELSE
    closing = [*check, spoke(AGENT_ANYTHING_ELSE), heard("No, thank you. Goodbye.")]
    assert agent([], *closing) == BrainReply(AGENT_CLOSING, (BrainCall(END_CALL_TOOL, {}),))
    ended = called(END_CALL_TOOL, {}, {"success": True}, "9")
    assert agent([], *closing, spoke(AGENT_CLOSING), *ended) == BrainReply()


def test_a_step_without_words_is_refused(book: Phrasebook) -> None:
    with pytest.raises(ConfigError, match="no request for fly"):
        Reference(book, vocabulary_of("tau2_telecom"), [{"side": "user", "name": "fly", "arguments": {}}], "mms_issue")
