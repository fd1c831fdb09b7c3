from pathlib import Path

import pytest

from duologue.records.action import Side
from duologue.records.result import Turn
from duologue.scoring.latency import contract_stats, measure_latency, percentiles
from duologue.scoring.score import score_trace
from duologue.testing.builders import TraceBuilder, write_recording
from tests.scoring.shop import AGENT, USER, shop_scenario


def turn(side: Side, start_ms: int, end_ms: int) -> Turn:
    return Turn(side=side, start_ms=start_ms, end_ms=end_ms, text=f"{side.value} {start_ms}")


def test_latency_is_between_the_edges_on_the_recording(tmp_path: Path) -> None:
    trace = TraceBuilder(shop_scenario()).say(AGENT, "Hello.", 40, 900).say(USER, "Hi.", 2100, 3050)
    trace.say(AGENT, "What now?", 4200, 5000).hang_up()
    write_recording(tmp_path / "call.wav", agent=[(0, 1000), (4000, 5000)], user=[(2000, 3250)])
    latency = score_trace(trace.build(), tmp_path / "call.wav").conversation.latency
    [response] = latency.responses
    assert (response.user_end_ms, response.agent_start_ms, response.latency_ms) == (3250, 4000, 750)
    assert (response.user_text, response.agent_text) == ("Hi.", "What now?")


def test_answer_before_the_end_of_the_question_is_early() -> None:
    found = measure_latency([turn(USER, 0, 2000), turn(AGENT, 1500, 3000)], measured=True)
    assert (found.early, found.responses, found.unanswered) == (1, (), 0)


def test_answer_at_the_very_end_has_latency_zero() -> None:
    found = measure_latency([turn(USER, 0, 2000), turn(AGENT, 2000, 3000)], measured=True)
    assert [response.latency_ms for response in found.responses] == [0]


def test_only_the_first_agent_turn_answers() -> None:
    turns = [turn(AGENT, 0, 1000), turn(USER, 2000, 3000), turn(AGENT, 3500, 4000), turn(AGENT, 9000, 9500)]
    assert [response.latency_ms for response in measure_latency(turns, measured=True).responses] == [500]


def test_user_turns_without_an_answer_are_counted() -> None:
    turns = [turn(USER, 0, 1000), turn(USER, 5000, 6000), turn(AGENT, 7000, 8000), turn(USER, 9000, 9500)]
    found = measure_latency(turns, measured=True)
    assert (found.unanswered, len(found.responses)) == (2, 1)


def test_nothing_is_measured_without_a_recording() -> None:
    found = measure_latency([turn(USER, 0, 1000), turn(AGENT, 2000, 3000)], measured=False)
    assert (found.measured, found.responses) == (False, ())


def test_contract_statistics_take_the_upper_middle() -> None:
    found = contract_stats([300, 100, 200])
    assert (found.count, found.mean_ms, found.p50_ms, found.p95_ms) == (3, 200, 200, 300)
    assert contract_stats([1, 2]).p50_ms == 2
    assert contract_stats(list(range(20))).p95_ms == 19


@pytest.mark.parametrize("empty", [0.0, -1.0])
def test_empty_statistics_have_the_given_value(empty: float) -> None:
    found = contract_stats([], empty=empty)
    assert (found.count, found.p50_ms, found.max_ms) == (0, empty, empty)


def test_percentiles_are_interpolated() -> None:
    found = percentiles([100, 200])
    assert (found.p50_ms, found.p95_ms) == (150, 195)
    assert percentiles([7]).p99_ms == 7
    assert percentiles([]).p50_ms is None
