import json
from typing import Any

import pytest

from duologue.protocol.replies import parse_bot_ready, parse_context, parse_flag, parse_report, parse_summary

MESSAGES = [{"role": "user", "content": "It's null, true"}, {"role": "assistant", "content": None, "ok": True}]


@pytest.mark.parametrize(
    "context",
    [MESSAGES, json.dumps(MESSAGES), repr(json.dumps(MESSAGES)), repr(MESSAGES), json.dumps(json.dumps(MESSAGES))],
)
def test_context_is_understood_in_every_form(context: Any) -> None:
    assert parse_context({"context": context}) == MESSAGES


@pytest.mark.parametrize(
    "context",
    [
        "__import__('os').system('true')",
        "[x for x in (1,)]",
        "open('/etc/passwd')",
        "(" * 5000,
        "-" * 5000 + "1",
        "{'a': 1}",
        "5",
        5,
        None,
        "'" + "x" * (2**20) + "'",
        repr(repr(repr(repr([])))),
        *(f"[{value}]" for value in ("1e999", "b'x'", "{1}", "1j", "...", "{b'k': 1}")),
    ],
)
def test_context_that_is_no_list_of_values_is_refused_and_never_evaluated(context: Any) -> None:
    with pytest.raises(ValueError):
        parse_context({"context": context})


def test_context_as_a_literal_becomes_plain_json() -> None:
    assert parse_context({"context": "[(1, 2), {3: None}]"}) == [[1, 2], {"3": None}]
    json.dumps(parse_context({"context": "['\\ud800']"}), ensure_ascii=False).encode("utf-8")


@pytest.mark.parametrize("d", [None, [], "x", {}])
def test_context_answer_without_context_is_refused(d: Any) -> None:
    with pytest.raises(ValueError):
        parse_context(d)


def test_report_keeps_errors_and_digest() -> None:
    report = parse_report({"success": False, "errors": ["a", "b"], "digest": "d"})
    assert (report.success, report.errors, report.digest) == (False, ("a", "b"), "d")
    assert parse_report({"success": True}).digest is None


@pytest.mark.parametrize("d", [None, True, {}, {"success": 1}, {"success": True, "errors": "x"}])
def test_report_of_another_shape_is_refused(d: Any) -> None:
    with pytest.raises(ValueError):
        parse_report(d)


@pytest.mark.parametrize("d", [None, 1, "true", {}])
def test_flag_must_be_a_boolean(d: Any) -> None:
    with pytest.raises(ValueError):
        parse_flag(d)


def test_summary_of_a_foreign_bot_has_no_extras() -> None:
    summary = parse_summary({"actions": [{"name": "x"}], "db_hash": None, "session": 1})
    assert (summary.actions, summary.has_extras, summary.tools) == (({"name": "x"},), False, None)


def test_summary_tools_are_sorted() -> None:
    assert parse_summary({"actions": [], "prompt_hash": "p", "tools": ["b", "a"]}).tools == ("a", "b")


@pytest.mark.parametrize("change", [{"actions": {}}, {"actions": [1]}, {"db": []}, {"db_hash": 5}, {"tools": [1]}])
def test_summary_of_another_shape_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        parse_summary({"actions": [], **change})


def test_stock_bot_has_no_lockstep_and_no_barrier() -> None:
    about = parse_bot_ready({"version": "2.1.0", "about": {"library": "pipecat-ai"}})
    assert (about.is_lockstep, about.barrier, about.plan, about.tool_calling) == (False, False, False, True)


def test_capability_of_a_wrong_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="frame_ms"):
        parse_bot_ready({"about": {"capabilities": {"frame_ms": "20"}}})
