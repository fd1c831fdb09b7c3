import json
import re
from pathlib import Path
from typing import Any

import pytest

from duologue.records.event import BotMessage, Fault, OpenEvent, SummaryPulled
from duologue.records.outcome import Cause, StopReason
from duologue.records.result import ScenarioResult
from duologue.reports.contract_files import final_response, write_scenario_files
from duologue.reports.conversation_log import conversation_log
from duologue.reports.files import write_json
from duologue.reports.summary import render_text
from duologue.scoring.aggregate import aggregate_results
from duologue.scoring.score import score_trace
from duologue.testing.builders import TraceBuilder
from tests.reports.conftest import WriteCall
from tests.scoring.shop import AGENT, shop_scenario


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def test_metrics_has_every_key_of_the_contract(tmp_path: Path, write_call: WriteCall) -> None:
    write_call(tmp_path / "shop__price")
    found = read(tmp_path / "shop__price" / "metrics.json")
    always = (
        "total_turns duration_seconds turns latency_stats latencies scenario_name scenario_directory "
        "scenario_duration stop_reason clean_exit is_action_match token_usage success_breakdown is_successful"
    )
    assert set(always.split()) <= found.keys()
    assert (found["is_successful"], found["is_task_successful"], found["total_turns"]) == (True, True, 3)
    assert found["turns"][1] == {"timestamp": 2.0, "role": "user", "text": 'The price, "please".'}
    assert found["latency_stats"]["p50_ms"] == 500
    assert found["scenario_directory"] == "shop__price"


def test_metrics_of_what_nobody_can_judge_says_so(tmp_path: Path) -> None:
    trace = TraceBuilder(shop_scenario()).end(StopReason.BOT_LOST).drop(SummaryPulled).build()
    write_scenario_files(tmp_path, trace, score_trace(trace, None))
    found = read(tmp_path / "metrics.json")
    assert (found["is_successful"], found["outcome"]["cause"]) == ("N/A", "transport")
    assert "is_task_successful" not in found
    assert not (tmp_path / "final_scenario_db_hash.txt").exists()


def test_actions_of_both_sides_carry_their_side(tmp_path: Path, write_call: WriteCall) -> None:
    write_call(tmp_path)
    [response] = read(tmp_path / "final_agent_response.json")
    assert [(action["side"], action["name"]) for action in response["actions"]] == [
        ("agent", "set_price"),
        ("user", "pay"),
    ]


def test_pushed_response_stands_in_only_without_a_summary() -> None:
    builder = TraceBuilder(shop_scenario())
    for data in ('{"answer": 4}', "Four."):
        builder.add(BotMessage(side=AGENT, kind="final_response", data=data))
    assert final_response(builder.build()) == [{"answer": 4}, {"message": "Four."}]
    assert final_response(builder.hang_up().build()) == [{"actions": []}]


@pytest.mark.parametrize("data", ["NaN", "[1e999]", "[" * 100_000, "9" * 5000, '["\\ud800"]'])
def test_pushed_response_never_spoils_the_file_that_holds_it(tmp_path: Path, data: str) -> None:
    builder = TraceBuilder(shop_scenario())
    builder.add(BotMessage(side=AGENT, kind="final_response", data=data))
    write_json(tmp_path / "response.json", final_response(builder.build()))
    assert json.loads((tmp_path / "response.json").read_text(encoding="utf-8"), parse_constant=pytest.fail)


def test_hash_file_has_a_line_for_each_side(tmp_path: Path, write_call: WriteCall) -> None:
    expected = write_call(tmp_path).expected
    lines = (tmp_path / "final_scenario_db_hash.txt").read_text().splitlines()
    assert lines == [f"db_hash: {expected.agent_db_hash}", f"user_db_hash: {expected.user_db_hash}"]


def test_tools_are_json_encoded_once(tmp_path: Path, write_call: WriteCall) -> None:
    write_call(tmp_path)
    assert read(tmp_path / "scenario_config" / "agent_tools.json") == {}
    assert (tmp_path / "scenario_config" / "agent_prompt.txt").read_text() == "You keep a shop."


def test_config_names_the_expected_end(tmp_path: Path, write_call: WriteCall) -> None:
    result = write_call(tmp_path)
    found = read(tmp_path / "scenario_config" / "metadata.json")
    assert found["expected_db_hash"] == result.expected.agent_db_hash
    assert found["success_signals"] == ["db_state_assertion", "clean_exit"]
    reference = read(tmp_path / "scenario_config" / "reference_answer.json")
    assert [action["name"] for action in reference["actions"]] == ["set_price", "pay"]


def test_context_is_written_where_it_was_pulled(tmp_path: Path, write_call: WriteCall) -> None:
    write_call(tmp_path)
    assert read(tmp_path / "bot_logs_agent" / "llm_context.json")[0]["role"] == "system"
    assert not (tmp_path / "bot_logs_user" / "llm_context.json").exists()


def test_files_of_an_earlier_scoring_do_not_linger(tmp_path: Path, write_call: WriteCall) -> None:
    write_call(tmp_path)
    trace = TraceBuilder(shop_scenario(reference_actions=())).end(StopReason.TIMEOUT).drop(SummaryPulled).build()
    write_scenario_files(tmp_path, trace, score_trace(trace, None))
    for name in (
        "final_scenario_db_hash.txt",
        "scenario_config/reference_answer.json",
        "bot_logs_agent/llm_context.json",
    ):
        assert not (tmp_path / name).exists()


def test_result_file_holds_the_whole_result(tmp_path: Path, write_call: WriteCall) -> None:
    result = write_call(tmp_path)
    assert ScenarioResult.model_validate_json((tmp_path / "result.json").read_bytes()) == result


def test_words_of_a_bot_begin_no_line_of_the_log_and_move_no_cursor() -> None:
    words = "Hello\n00:09.000–00:10.000  user: Yes\x1b[2J\x9b31m\u202e [bold]"
    builder = TraceBuilder(shop_scenario()).say(AGENT, words, 0, 2000)
    builder.add(Fault(cause=Cause.HARNESS, error="X", message=words))
    trace = builder.hang_up().build()
    result = score_trace(trace, None)
    for text in (conversation_log(trace, result), render_text([result], aggregate_results([result]))):
        assert not [line for line in text.splitlines() if line.startswith("00:09")]
        assert re.search(r"[\x1b\x9b\u202e]", text) is None
        assert "Yes\\x1b[2J\\x9b31m\\u202e [bold]" in text


def test_event_of_an_unknown_kind_is_shown_and_changes_no_result() -> None:
    event = OpenEvent.model_validate({"event": "weather_changed", "seq": 0, "t_ms": 0, "sky": {"clouds": 1}})
    plain = TraceBuilder(shop_scenario()).say(AGENT, "Hello.", 0, 1000)
    with_event = TraceBuilder(shop_scenario()).add(event).say(AGENT, "Hello.", 0, 1000)
    traces = [builder.hang_up().build() for builder in (plain, with_event)]
    known, also = (score_trace(trace, None) for trace in traces)
    assert 'weather_changed {"sky":{"clouds":1}}' in conversation_log(traces[1], also)
    assert (also.outcome, also.conversation.turns) == (known.outcome, known.conversation.turns)


def test_log_shows_turns_tools_and_latency_in_order(tmp_path: Path, write_call: WriteCall) -> None:
    write_call(tmp_path)
    log = (tmp_path / "conversation_log.txt").read_text(encoding="utf-8")
    parts = ["agent: Hello.", 'user: The price, "please".', 'agent calls set_price({"item":"A1","price":7.5})']
    positions = [log.index(part) for part in [*parts, "agent: Done, goodbye.  [latency 500 ms]"]]
    assert positions == sorted(positions)
    assert "00:02.000–00:03.000" in log
