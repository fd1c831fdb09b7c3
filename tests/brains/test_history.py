from duologue.brains.history import Called, Heard, Spoke, read_acts
from tests.brains.chat import called, heard, spoke


def test_consecutive_messages_of_one_party_are_one_act() -> None:
    acts = read_acts([heard("Please flip"), heard("the switch."), spoke("It is"), spoke("on.")])
    assert acts == [Heard("Please flip the switch."), Spoke("It is on.")]


def test_a_call_carries_its_result() -> None:
    assert read_acts(called("look", {"a": 1}, {"on": True})) == [Called("look", {"a": 1}, {"on": True}, is_known=True)]


def test_a_call_without_result_is_open_until_somebody_speaks() -> None:
    assert read_acts(called("look"))[0] == Called("look", {}, is_open=True)
    assert read_acts([*called("look"), heard("Hello?")])[0] == Called("look", {})


def test_a_running_and_a_cancelled_call_are_told_apart() -> None:
    assert read_acts(called("look", result="IN_PROGRESS")) == [Called("look", {}, is_open=True)]
    assert read_acts(called("look", result="CANCELLED")) == [Called("look", {})]


def test_words_in_content_parts_are_heard() -> None:
    assert read_acts([{"role": "user", "content": [{"type": "text", "text": "Hello"}]}]) == [Heard("Hello")]


def test_system_messages_are_no_acts() -> None:
    assert read_acts([{"role": "system", "content": "Be brief."}]) == []


def test_an_error_result_is_a_failure() -> None:
    assert read_acts(called("look", result={"status": "error", "message": "no"}))[0] == Called(
        "look", {}, {"status": "error", "message": "no"}, is_known=True
    )
