from pathlib import Path

import pytest

from duologue.audio.line import Line
from duologue.audio.recording import RecordingWriter, read_recording
from duologue.errors import TraceError
from duologue.records.action import Side
from duologue.records.caller import FrozenUtterance, RecordedCaller
from duologue.records.conditions import LineConditions
from duologue.records.event import RecordingWritten, TokensUsed
from duologue.records.outcome import OutcomeKind
from duologue.records.result import ScenarioResult
from duologue.scoring.score import score_trace
from duologue.testing.builders import TraceBuilder, write_recording
from duologue.trace.reader import Trace, load_trace
from tests.scoring.shop import ACTIONS, AGENT, EXIT, PREDICATES, STATE, USER, claim, shop_scenario, step


def done(**settings: object) -> TraceBuilder:
    builder = TraceBuilder(shop_scenario(), settings=settings).call_tool(AGENT, "set_price", item="A1", price=7.5)
    return builder.call_tool(USER, "pay")


@pytest.mark.parametrize("signals", [(PREDICATES, EXIT), (ACTIONS, EXIT), (STATE, EXIT), (ACTIONS, STATE), (EXIT,)])
def test_silent_agent_never_passes(signals: tuple[str, ...]) -> None:
    result = score_trace(TraceBuilder(shop_scenario(success_signals=signals)).hang_up().build(), None)
    assert result.outcome.kind is not OutcomeKind.PASSED
    assert result.is_task_successful is not True


def test_action_gate_makes_a_transfer_task_earnable() -> None:
    scenario = shop_scenario(
        reference_actions=(step("hand_over", compare=(), summary="*"),),
        db_state_assertions=(claim("price_is", item="A1", price=5.0),),
        success_signals=(PREDICATES, ACTIONS, EXIT),
    )
    idle = TraceBuilder(scenario).hang_up()
    assert score_trace(idle.build(), None).outcome.kind is OutcomeKind.FAILED
    assert score_trace(idle.build(), None, compat=("reference",)).outcome.kind is OutcomeKind.PASSED
    moved = TraceBuilder(scenario).call_tool(AGENT, "hand_over", summary="The caller is locked out.").hang_up()
    assert score_trace(moved.build(), None).outcome.kind is OutcomeKind.PASSED


def test_result_says_which_rules_scored_it() -> None:
    trace = done().hang_up().build()
    assert score_trace(trace, None).scored_as == "duologue"
    assert score_trace(trace, None, compat=("tau2",)).scored_as == "duologue"
    assert score_trace(trace, None, compat=("reference", "tau2")).scored_as == "reference"


def test_scoring_twice_gives_equal_results_and_leaves_the_trace_alone() -> None:
    trace = done().hang_up().build()
    before = [event.model_dump_json() for event in trace.events]
    assert score_trace(trace, None).model_dump_json() == score_trace(trace, None).model_dump_json()
    assert [event.model_dump_json() for event in trace.events] == before


def test_stored_trace_scores_like_the_one_in_memory(tmp_path: Path) -> None:
    builder = done().hang_up()
    stored = score_trace(load_trace(builder.save(tmp_path)), None)
    assert stored == score_trace(builder.build(), None)
    assert ScenarioResult.model_validate_json(stored.model_dump_json()) == stored


def test_tokens_are_counted_per_side() -> None:
    builder = done()
    for side, prompt in ((AGENT, 10), (AGENT, 5), (USER, 1)):
        builder.add(TokensUsed(side=side, prompt=prompt, completion=2))
    tokens = score_trace(builder.hang_up().build(), None).tokens
    assert (tokens[Side.AGENT].n_calls, tokens[Side.AGENT].prompt, tokens[Side.AGENT].completion) == (2, 15, 4)
    assert tokens[Side.USER].n_calls == 1


def test_turn_rule_is_off_without_a_setting_and_fails_with_one() -> None:
    assert score_trace(done().hang_up().build(), None).outcome.kind is OutcomeKind.PASSED
    strict = score_trace(done(min_agent_turns=3).hang_up().build(), None)
    assert (strict.outcome.kind, strict.insufficient_agent_turns, strict.agent_turns) == (OutcomeKind.FAILED, True, 1)


@pytest.mark.parametrize(("wanted", "too_few"), [(1, False), (2, False), (3, True)])
def test_turn_rule_is_met_by_exactly_the_wanted_number(wanted: int, too_few: bool) -> None:
    builder = done(min_agent_turns=wanted).say(USER, "Thanks.", 1000, 2000).say(AGENT, "Bye.", 3000, 4000)
    result = score_trace(builder.hang_up().build(), None)
    assert (result.agent_turns, result.insufficient_agent_turns) == (2, too_few)
    assert result.outcome.kind is (OutcomeKind.FAILED if too_few else OutcomeKind.PASSED)


@pytest.mark.parametrize(("utterances", "too_few"), [(1, False), (2, True)])
def test_turn_rule_asks_for_no_more_turns_than_a_recorded_caller_has_utterances(utterances: int, too_few: bool) -> None:
    caller = tuple(FrozenUtterance(text="Goodbye.") for _ in range(utterances))
    scenario = shop_scenario(caller=RecordedCaller(utterances=caller), has_user_state=False, user_needs_tools=False)
    builder = TraceBuilder(scenario, settings={"min_agent_turns": 3}).call_tool(
        AGENT, "set_price", item="A1", price=7.5
    )
    result = score_trace(builder.hang_up().build(), None)
    assert (result.agent_turns, result.insufficient_agent_turns) == (1, too_few)


def test_turn_rule_does_not_ask_for_token_reports() -> None:
    builder = done(min_agent_turns=2).say(USER, "Thanks.", 1000, 2000).say(AGENT, "Bye.", 3000, 4000)
    trace = builder.hang_up().build()
    assert score_trace(trace, None).outcome.kind is OutcomeKind.PASSED
    assert score_trace(trace, None, compat=("reference",)).insufficient_agent_turns


def test_recording_must_be_the_one_of_the_trace(tmp_path: Path) -> None:
    path = tmp_path / "call.wav"
    info = write_recording(path, agent=[(0, 500)])
    event = RecordingWritten(path="call.wav", sha256=info.sha256, sample_rate_hz=16_000, samples=info.samples)
    trace = done().hang_up().add(event).build()
    assert len(score_trace(trace, path).conversation.turns) == 1
    write_recording(path, agent=[(0, 600)])
    with pytest.raises(TraceError, match="not the recording that the trace names"):
        score_trace(trace, path)


def test_unreadable_recording_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "call.wav").write_bytes(b"not a wave file")
    with pytest.raises(TraceError, match=r"call\.wav: the recording cannot be read"):
        score_trace(done().hang_up().build(), tmp_path / "call.wav")


def over_noise(folder: Path, *, delay_ms: int = 0) -> tuple[Trace, Path, Path]:
    """A trace over a noisy line, the recording of what was heard, and that of what was said."""
    line = LineConditions.model_validate(
        {"name": "street", "both": {"noise": {"level_dbfs": -25}, **({"delay_ms": delay_ms} if delay_ms else {})}}
    )
    said = write_recording(folder / "said_log.wav", user=[(1000, 2000)], agent=[(3000, 4000)], length_ms=6000)
    tracks, channels = read_recording(said.path), Line(line, "key")
    writer = RecordingWriter(folder / "conversation_log.wav", 16_000)
    for start in range(0, said.samples, 320):
        part = slice(start, start + 320)
        writer.append(
            channels.to_agent.carry(tracks.agent_heard[part].tobytes()),
            channels.to_user.carry(tracks.user_heard[part].tobytes()),
        )
    heard = writer.close()
    event = RecordingWritten(
        path=heard.path.name,
        sha256=heard.sha256,
        sample_rate_hz=16_000,
        samples=heard.samples,
        said_path=said.path.name,
        said_sha256=said.sha256,
    )
    builder = TraceBuilder(shop_scenario(line=line)).say(USER, "Hello.", 1000, 2000).say(AGENT, "Hello.", 3000, 4000)
    return builder.hang_up().add(event).build(), heard.path, said.path


def edges(result: ScenarioResult) -> list[tuple[int, int]]:
    return [(turn.start_ms, turn.end_ms) for turn in result.conversation.turns]


def test_edges_and_latency_are_those_of_what_was_said(tmp_path: Path) -> None:
    trace, heard, said = over_noise(tmp_path)
    result = score_trace(trace, heard, said=said)
    assert edges(result) == [(1000, 2000), (3000, 4000)]
    assert edges(score_trace(Trace(trace.header, trace.events[:-1]), heard)) != edges(result)
    assert [response.latency_ms for response in result.conversation.latency.responses] == [1000]
    assert result.line.name == "street"


def test_latency_over_a_delayed_line_is_what_the_caller_waits(tmp_path: Path) -> None:
    trace, heard, said = over_noise(tmp_path, delay_ms=240)
    result = score_trace(trace, heard, said=said)
    assert [response.latency_ms for response in result.conversation.latency.responses] == [1240]


def test_recording_of_what_was_said_must_be_the_one_of_the_trace(tmp_path: Path) -> None:
    trace, heard, said = over_noise(tmp_path)
    with pytest.raises(TraceError, match=r"the recording of what was said, said_log\.wav, is missing"):
        score_trace(trace, heard)
    write_recording(said, user=[(1000, 2100)])
    with pytest.raises(TraceError, match=r"said_log\.wav: not the recording that the trace names"):
        score_trace(trace, heard, said=said)


def test_line_is_stored_in_a_result_only_when_something_happened_on_it(tmp_path: Path) -> None:
    trace, heard, said = over_noise(tmp_path)
    stored = score_trace(trace, heard, said=said).model_dump(mode="json")
    assert stored["line"]["name"] == "street"
    assert ScenarioResult.model_validate(stored).line == trace.header.scenario.line
    assert "line" not in score_trace(done().hang_up().build(), None).model_dump(mode="json")
