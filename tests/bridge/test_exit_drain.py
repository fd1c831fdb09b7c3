from duologue.bridge.exit_drain import BotActivity, CallEnd
from duologue.protocol.messages import InterruptionMark, RtviMessage
from duologue.records.outcome import StopReason


def quiet() -> BotActivity:
    return BotActivity(quiet_ms=10_000)


def end() -> CallEnd:
    return CallEnd(max_ms=10_000, exit_grace_ms=5_000, drain_ms=2_000)


def test_call_goes_on_until_its_maximum() -> None:
    assert end().decide(9_980, quiet(), quiet()) is None
    assert end().decide(10_000, quiet(), quiet()) is StopReason.TIMEOUT


def test_exit_needs_half_a_second_of_quiet() -> None:
    call = end()
    call.request_exit(1_000)
    agent = BotActivity()
    agent.hear(-20.0, 20)
    assert call.decide(1_500, agent, quiet()) is None
    for _ in range(25):
        agent.hear(-90.0, 20)
    assert call.decide(2_000, agent, quiet()) is StopReason.EXIT


def test_exit_waits_for_what_is_under_way() -> None:
    for started, stopped in [
        ("bot-started-speaking", "bot-stopped-speaking"),
        ("bot-llm-started", "bot-llm-stopped"),
        ("bot-tts-started", "bot-tts-stopped"),
        ("bot-tts-started", "bot-interrupted"),
        ("llm-function-call-in-progress", "llm-function-call-stopped"),
    ]:
        call, agent = end(), quiet()
        call.request_exit(0)
        agent.observe(RtviMessage(started, data={"tool_call_id": "1"}))
        assert call.decide(1_000, agent, quiet()) is None
        agent.observe(RtviMessage(stopped, data={"tool_call_id": "1"}))
        assert call.decide(1_020, agent, quiet()) is StopReason.EXIT


def test_exit_waits_for_the_callers_open_tool() -> None:
    call, user = end(), quiet()
    call.request_exit(0)
    user.observe(RtviMessage("llm-function-call-in-progress", data={"tool_call_id": "1"}))
    assert call.decide(1_000, quiet(), user) is None


def test_exit_is_bounded() -> None:
    call = end()
    call.request_exit(1_000)
    call.request_exit(4_000)
    loud = BotActivity(is_speaking=True)
    assert call.decide(5_980, loud, quiet()) is None
    assert call.decide(6_000, loud, quiet()) is StopReason.EXIT


def test_maximum_waits_a_bounded_time_for_open_tools() -> None:
    agent = quiet()
    agent.observe(RtviMessage("llm-function-call-in-progress", data={"tool_call_id": "1"}))
    assert end().decide(11_980, agent, quiet()) is None
    assert end().decide(12_000, agent, quiet()) is StopReason.TIMEOUT


def test_interruption_frame_cuts_speech() -> None:
    agent = BotActivity(is_speaking=True, is_voicing=True, quiet_ms=600)
    agent.observe(InterruptionMark())
    assert agent.is_done


def test_agent_may_still_hang_up_after_a_caller_who_left() -> None:
    call = end()
    call.caller_left(1_000)
    assert call.decide(2_980, quiet(), quiet()) is None
    call.request_exit(2_980)
    assert call.decide(3_500, quiet(), quiet()) is StopReason.EXIT


def test_last_words_of_a_caller_who_left_are_heard_out() -> None:
    call, saying_goodbye = end(), BotActivity(is_speaking=True)
    call.caller_left(1_000)
    assert call.decide(4_000, quiet(), saying_goodbye) is None
    assert call.decide(5_980, quiet(), quiet()) is None
    assert call.decide(6_000, quiet(), quiet()) is StopReason.CALLER_DONE


def test_call_ends_soon_after_the_caller_left() -> None:
    call = end()
    call.caller_left(1_000)
    call.caller_left(2_000)
    assert call.decide(3_000, quiet(), quiet()) is StopReason.CALLER_DONE
