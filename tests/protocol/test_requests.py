import pytest

from duologue.protocol.messages import RtviMessage
from duologue.protocol.requests import Reply, RequestBook, Stray, StrayAnswer


def answer(request_id: str, t: str, d: object = True) -> RtviMessage:
    return RtviMessage("server-response", request_id, {"t": t, "d": d})


def stray(book: RequestBook, message: RtviMessage) -> tuple[Stray, str]:
    found = book.match(message)
    assert isinstance(found, StrayAnswer)
    return found.stray, found.kind


def test_ids_are_deterministic_and_unique() -> None:
    book = RequestBook()
    assert [book.open("reset"), book.issue("send-text"), book.open("reset")] == ["reset-1", "send-text-2", "reset-3"]
    assert book.pending == ["reset-1", "reset-3"]


def test_answer_satisfies_its_own_request_only() -> None:
    book = RequestBook()
    first, second = book.open("reset"), book.open("reset")
    assert book.match(answer(second, "reset", False)) == Reply(second, False)
    assert book.pending == [first]


def test_unknown_late_and_repeated_answers_satisfy_nothing() -> None:
    book = RequestBook()
    late, repeated, waiting = book.open("a"), book.open("b"), book.open("c")
    book.give_up(late)
    book.match(answer(repeated, "b"))
    assert stray(book, answer("c-99", "c")) == (Stray.UNKNOWN, "")
    assert stray(book, answer(late, "a")) == (Stray.LATE, "a")
    assert stray(book, answer(repeated, "b")) == (Stray.REPEATED, "b")
    assert book.pending == [waiting]


def test_answer_with_the_id_of_a_request_of_another_kind_satisfies_nothing() -> None:
    book = RequestBook()
    request_id = book.open("get_scenario_summary")
    assert stray(book, answer(request_id, "apply_sync_delta"))[0] is Stray.MISMATCHED
    assert book.pending == [request_id]


def test_error_response_ends_the_wait_with_its_text() -> None:
    book = RequestBook()
    request_id = book.open("reset")
    assert book.match(RtviMessage("error-response", request_id, {"error": "boom"})) == Reply(request_id, error="boom")
    assert book.pending == []


def test_bot_ready_answers_only_the_handshake() -> None:
    book = RequestBook()
    request_id, other = book.open("client-ready"), book.open("reset")
    assert stray(book, RtviMessage("bot-ready", other, {}))[0] is Stray.MISMATCHED
    assert book.match(RtviMessage("bot-ready", request_id, {"version": "1"})) == Reply(request_id, {"version": "1"})


def test_null_result_is_an_answer() -> None:
    book = RequestBook()
    request_id = book.open("reset")
    assert book.match(RtviMessage("server-response", request_id, {"t": "reset"})) == Reply(request_id, None)


@pytest.mark.parametrize("data", [None, "text", [], {}])
def test_answer_without_a_name_satisfies_nothing(data: object) -> None:
    book = RequestBook()
    request_id = book.open("reset")
    assert stray(book, RtviMessage("server-response", request_id, data))[0] is Stray.MISMATCHED
