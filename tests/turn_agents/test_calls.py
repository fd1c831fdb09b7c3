import json
from pathlib import Path

import pytest

from duologue.errors import TurnAgentError
from duologue.turn_agents.calls import TurnCall, extract_calls, merge_calls

EXAMPLES = sorted((Path(__file__).resolve().parents[3] / "shared" / "spec").glob("*scoring_examples.json"))


def recorded_cases():
    cases = [case for path in EXAMPLES for case in json.loads(path.read_text()).get("extraction_cases", [])]
    return cases or [pytest.param(None, marks=pytest.mark.skip(reason="the recorded cases are not there"))]


@pytest.mark.parametrize("case", recorded_cases(), ids=lambda case: case["id"] if case else "none")
def test_recorded_cases_are_read_as_recorded(case):
    found = extract_calls(case["tool_calls"])
    assert [{"id": call.call_id, "name": call.name, "arguments": call.arguments} for call in found] == case["expected"]


@pytest.mark.parametrize("key", ["arguments", "kwargs", "parameters"])
def test_flat_arguments_may_be_an_object_or_json_text_under_three_keys(key):
    assert extract_calls([{"name": "a", key: {"x": 1}}, {"tool_name": "b", key: '{"x": 1}'}]) == [
        TurnCall(None, "a", {"x": 1}),
        TurnCall(None, "b", {"x": 1}),
    ]


def test_the_first_filled_argument_key_wins():
    entry = {"name": "a", "arguments": {}, "kwargs": {"x": 1}, "parameters": {"x": 2}}
    assert extract_calls([entry]) == [TurnCall(None, "a", {"x": 1})]


@pytest.mark.parametrize("raw", ["{broken", "[1]", '"text"', '{"x": NaN}', None, 5])
def test_arguments_that_are_no_json_object_read_as_none(raw):
    assert extract_calls([{"function": {"name": "a", "arguments": raw}}]) == [TurnCall(None, "a", {})]


def test_a_call_without_a_name_still_counts():
    assert extract_calls([{"id": "c1", "arguments": {"x": 1}}]) == [TurnCall("c1", "", {"x": 1})]


def test_arguments_that_json_cannot_hold_are_an_error():
    with pytest.raises(TurnAgentError, match="the arguments of call 'a' are not JSON"):
        extract_calls([{"name": "a", "arguments": {"x": {1, 2}}}])


def test_a_call_listed_twice_under_one_id_is_one_call():
    assert merge_calls([TurnCall("c1", "a")], [TurnCall("c1", "a"), TurnCall("c2", "a")]) == [
        TurnCall("c1", "a"),
        TurnCall("c2", "a"),
    ]


def test_lists_without_ids_do_not_double_each_other_but_repeats_within_one_stay():
    twice = [TurnCall(None, "a", {"x": 1}), TurnCall(None, "a", {"x": 1})]
    assert merge_calls(twice, twice) == twice
    assert merge_calls([TurnCall("c1", "a", {"x": 1})], twice) == [TurnCall("c1", "a", {"x": 1}), twice[1]]
