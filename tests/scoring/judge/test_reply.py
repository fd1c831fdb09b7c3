import json
from typing import Any

import pytest

from duologue.errors import JudgeError
from duologue.scoring.judge.reply import ClaimReply, ScoreReply, parse_reply, require_object

GOOD = {"score": 0.75, "reason": "It refunded 5 dollars."}
VALID = ScoreReply(0.75, "It refunded 5 dollars.")


def claims(*verdicts: Any) -> dict[str, Any]:
    items = [{"index": index, "passed": passed, "reason": "r"} for index, passed in enumerate(verdicts, start=1)]
    return {**GOOD, "nl_assertion_verdicts": items}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(GOOD),
        f"```json\n{json.dumps(GOOD)}\n```",
        f"Here is my grade.\n```\n{json.dumps(GOOD)}\n```\nThat is all.",
        f"After {{some}} thought: {json.dumps(GOOD)} I am sure.",
        f'<think>maybe {{"score": 0.1, "reason": "draft"}}</think>\n{json.dumps(GOOD)}',
        f"{json.dumps(GOOD)}\nAgain: {json.dumps(GOOD)}",
        json.dumps({**GOOD, "confidence": "high"}),
    ],
)
def test_valid_reply_is_found(text: str) -> None:
    assert parse_reply(text, 0) == VALID


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("The agent did very well, I would say 0.9 out of 1.", "no JSON object"),
        ('{"reason": "no score"}', "no score"),
        ('{"score": "n/a", "reason": "r"}', "'n/a', not a number"),
        ('{"score": "0.9", "reason": "r"}', "not a number"),
        ('{"score": "false", "reason": "r"}', "'false', not a number"),
        ('{"score": true, "reason": "r"}', "True, not a number"),
        ('{"score": null, "reason": "r"}', "None, not a number"),
        ('{"score": NaN, "reason": "r"}', "no JSON object"),
        ('{"score": Infinity, "reason": "r"}', "no JSON object"),
        ('{"score": 1e999, "reason": "r"}', "not from 0 to 1"),
        ('{"score": 95, "reason": "r"}', "not from 0 to 1"),
        ('{"score": -0.1, "reason": "r"}', "not from 0 to 1"),
        (f'{{"score": 1{"0" * 400}, "reason": "r"}}', "not from 0 to 1"),
        ('{"score": 0.9}', "no reason"),
        ('{"score": 0.9, "reason": " "}', "no reason"),
        ('{"score": 0.9, "score": 0.1, "reason": "r"}', "no JSON object"),
        ('{"score": 0.9, "reason": "cut', "no JSON object"),
        ('[{"score": "n/a", "reason": "r"}]', "not a number"),
        ("", "no JSON object"),
        ('{"score": 0.9, "reason": "a"} or {"score": 0.1, "reason": "b"}', "2 different verdicts"),
    ],
)
def test_anything_else_is_an_error_that_may_be_retried(text: str, problem: str) -> None:
    with pytest.raises(JudgeError, match=problem) as caught:
        parse_reply(text, 0)
    assert caught.value.retryable


def test_statements_come_back_in_their_order() -> None:
    value = claims(True, False)
    value["nl_assertion_verdicts"].reverse()
    assert parse_reply(json.dumps(value), 2).claims == (ClaimReply(True, "r"), ClaimReply(False, "r"))


@pytest.mark.parametrize(
    ("verdicts", "problem"),
    [
        (None, "not a list"),
        ([], "no verdict on statement 1, 2"),
        ([{"index": 1, "passed": True, "reason": "r"}], "no verdict on statement 2"),
        ([{"index": 1, "passed": True, "reason": "r"}, {"index": 1, "passed": False, "reason": "r"}], "two verdicts"),
        ([{"index": 0, "passed": True, "reason": "r"}], "statement 0 of 2"),
        ([{"index": 3, "passed": True, "reason": "r"}], "statement 3 of 2"),
        ([{"index": "1", "passed": True, "reason": "r"}], "not a whole number"),
        ([{"index": True, "passed": True, "reason": "r"}], "not a whole number"),
        ([{"index": 1, "passed": "false", "reason": "r"}], "'false', neither true nor false"),
        ([{"index": 1, "passed": "true", "reason": "r"}], "neither true nor false"),
        ([{"index": 1, "passed": 1, "reason": "r"}], "neither true nor false"),
        ([{"index": 1, "passed": None, "reason": "r"}], "neither true nor false"),
        ([{"index": 1, "passed": True}], "has no reason"),
        (["passed"], "not an object"),
    ],
)
def test_every_statement_needs_exactly_one_literal_verdict(verdicts: Any, problem: str) -> None:
    with pytest.raises(JudgeError, match=problem):
        parse_reply(json.dumps({**GOOD, "nl_assertion_verdicts": verdicts}), 2)


def test_half_characters_in_a_reason_do_not_break_files() -> None:
    assert parse_reply('{"score": 1, "reason": "bad \\ud800 half"}', 0).reason == "bad ? half"


def test_object_is_required_where_the_reader_is_elsewhere() -> None:
    text = 'Sure: {"verdict": "pass"}'
    assert require_object(text) == text
    with pytest.raises(JudgeError, match="no JSON object"):
        require_object("I can not say.")
