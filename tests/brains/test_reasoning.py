import pytest

from duologue.bots.brains.reasoning import AnswerFilter, starts_inside_reasoning


def answer(text: str, step: int, inside: str = "") -> tuple[str, AnswerFilter]:
    kept = AnswerFilter(inside)
    out = "".join(kept.feed(text[start : start + step]) for start in range(0, len(text), step))
    return out + kept.finish(), kept


@pytest.mark.parametrize("step", [1, 2, 5, 100])
def test_reasoning_is_left_out_however_it_is_split(step: int) -> None:
    text, kept = answer("<think>a < b</think>Hello. <THINKING>x</thinking>1 < 2, <thin air>", step)
    assert text == "Hello. 1 < 2, <thin air>"
    assert kept.hidden_chars == len("a < bx")


@pytest.mark.parametrize("step", [1, 4, 100])
def test_reasoning_that_never_ends_is_no_answer(step: int) -> None:
    assert answer("Well. <think>and so on </thi", step)[0] == "Well. "


@pytest.mark.parametrize("step", [1, 6, 100])
def test_written_calls_are_taken_out_whole(step: int) -> None:
    text, kept = answer('Wait. <tool_call>{"name": "a"}</tool_call><tool_call>{"name": "b"}', step)
    assert text == "Wait. "
    assert kept.calls == ['{"name": "a"}', '{"name": "b"}']


def test_reply_that_only_closes_its_reasoning_began_in_it() -> None:
    assert starts_inside_reasoning("I should greet.</think>Hello")
    assert not starts_inside_reasoning("<think>I should greet.</think>Hello")
    assert not starts_inside_reasoning("Hello")
    assert answer("I should greet.</think>Hello", 3, "think")[0] == "Hello"
