from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from duologue.audio.pcm import samples_of
from duologue.audio.recording import read_recording
from duologue.errors import BotUnavailable
from duologue.protocol.messages import TICK_SAMPLES, RtviMessage
from duologue.records.action import Side
from duologue.records.conditions import LineConditions
from duologue.records.event import (
    ActionApplied,
    BotReady,
    CallEnded,
    DeltaPushed,
    ExitRequested,
    FinalState,
    SpokenText,
    StateChecked,
    ToolReturned,
)
from duologue.records.outcome import StopReason
from duologue.records.run_layout import RECORDING, SAID_RECORDING
from duologue.talk.person import CALLER_GOODBYE, Person, Phase
from duologue.talk.phone_line import LEAD_TICKS, PhoneLine
from duologue.talk.sound_queue import SILENCE
from duologue.testing.scripted_bot import BotScript, exit_push
from tests.bridge.counter_shop import shop_scenario
from tests.talk.stage import at, call_with_person, connected_line, shop_desk

LOUD = b"\x00\x20" * TICK_SAMPLES
pytestmark = pytest.mark.socket


async def test_person_pays_and_both_databases_follow(tmp_path: Path) -> None:
    desk = shop_desk(Side.USER)
    bot = BotScript(writes={5: [("request_payment", {})]}, messages={100: [exit_push()]})
    trace = await call_with_person(tmp_path, desk, bot, at({1000: lambda: desk.person.press("pay_bill", {})}))
    assert [event.action.name for event in trace.of(ActionApplied)] == ["request_payment", "pay_bill"]
    assert [(event.side, event.delta) for event in trace.of(DeltaPushed)][-2:] == [
        (Side.USER, {"wallet.bill": "due"}),
        (Side.AGENT, {"order.status": "paid"}),
    ]
    assert all(event.equal for event in trace.of(StateChecked))
    assert trace.of(FinalState)[0].user_db == desk.person.seat.host.state.db
    assert trace.of(CallEnded)[0].stop_reason is StopReason.EXIT


async def test_trace_says_that_a_person_held_the_side(tmp_path: Path) -> None:
    desk = shop_desk(Side.USER)
    trace = await call_with_person(tmp_path, desk, BotScript(messages={5: [exit_push()]}), at({}))
    (ready,) = [event for event in trace.of(BotReady) if event.side is Side.USER]
    assert ready.about["capabilities"]["brain"] == "human"


async def test_agent_in_person_uses_tools_and_hangs_up(tmp_path: Path) -> None:
    desk = shop_desk(Side.AGENT)
    deeds: dict[int, Callable[[], object]] = {
        200: lambda: desk.person.press("request_payment", {}),
        400: desk.person.hang_up,
    }
    trace = await call_with_person(tmp_path, desk, BotScript(), at(deeds))
    names = [event.action.name for event in trace.of(ActionApplied)]
    assert names == ["request_payment", "EndConversationTool"]
    assert [event.side for event in trace.of(ExitRequested)] == [Side.AGENT]
    assert trace.of(CallEnded)[0].stop_reason is StopReason.EXIT


async def test_caller_in_person_may_hang_up_first(tmp_path: Path) -> None:
    desk = shop_desk(Side.USER)
    trace = await call_with_person(tmp_path, desk, BotScript(), at({200: desk.person.hang_up}))
    assert trace.of(CallEnded)[0].stop_reason is StopReason.CALLER_DONE
    assert 700 <= trace.of(CallEnded)[0].media_ms <= 800


async def test_two_presses_in_one_tick_run_one_after_the_other(tmp_path: Path) -> None:
    desk = shop_desk(Side.USER)

    def twice() -> None:
        desk.person.press("drop_coins", {})
        desk.person.press("drop_coins", {})

    trace = await call_with_person(tmp_path, desk, BotScript(messages={50: [exit_push()]}), at({200: twice}))
    assert [event.result for event in trace.of(ToolReturned)] == [{"coins": 4}, {"coins": 3}]
    assert [event.action.seq for event in trace.of(ActionApplied)] == [1, 2]


async def test_microphone_is_recorded_as_what_the_agent_heard(tmp_path: Path) -> None:
    line = connected_line()
    desk = shop_desk(Side.USER, line)
    bot = BotScript(messages={50: [exit_push()]})
    await call_with_person(tmp_path, desk, bot, lambda _: line.microphone.put(LOUD))
    heard = read_recording(tmp_path / RECORDING).agent_heard
    assert heard[-1] == samples_of(LOUD)[-1]


async def test_person_speaks_and_listens_over_the_line(tmp_path: Path) -> None:
    far = LineConditions.model_validate({"name": "far", "both": {"delay_ms": 200}})
    phone = connected_line()
    bot = BotScript(audio=lambda tick: LOUD if tick == 0 else None, messages={50: [exit_push()]})
    desk = shop_desk(Side.USER, phone)
    await call_with_person(tmp_path, desk, bot, lambda _: phone.microphone.put(LOUD), scenario=shop_scenario(line=far))
    heard, said = (read_recording(tmp_path / name) for name in (RECORDING, SAID_RECORDING))
    for of_heard, of_said in ((heard.agent_heard, said.agent_heard), (heard.user_heard, said.user_heard)):
        assert np.flatnonzero(of_said).size
        assert np.flatnonzero(of_heard)[0] == np.flatnonzero(of_said)[0] + 200 * 16


async def test_words_of_a_person_are_those_that_the_other_side_heard(tmp_path: Path) -> None:
    desk = shop_desk(Side.USER)
    heard = RtviMessage("user-transcription", data={"text": "I want to pay.", "final": True})
    trace = await call_with_person(tmp_path, desk, BotScript(messages={5: [heard], 9: [exit_push()]}), at({}))
    assert [(event.side, event.text) for event in trace.of(SpokenText)] == [(Side.USER, "I want to pay. ")]


async def test_lost_line_is_no_failure_of_the_agent(tmp_path: Path) -> None:
    line = connected_line()
    desk = shop_desk(Side.USER, line)
    trace = await call_with_person(tmp_path, desk, BotScript(), at({300: lambda: line.fell("the tab was closed")}))
    assert trace.of(CallEnded)[0].stop_reason is StopReason.BOT_LOST
    assert trace.of(FinalState)


async def test_browser_that_never_comes_is_an_error() -> None:
    with pytest.raises(BotUnavailable, match="no browser connected"):
        await Person(Side.USER, PhoneLine()).open(0.01)


def test_tools_wait_for_the_call() -> None:
    with pytest.raises(ValueError, match="during the call only"):
        Person(Side.USER, connected_line()).press("pay_bill", {})


async def grant(person: Person) -> bytes:
    reply = await (await person.start_grant(bytes(2 * TICK_SAMPLES)))
    return reply.audio.pcm


async def in_phase(phase: Phase, line: PhoneLine | None = None) -> Person:
    """A person who got there by what happens in a call."""
    person = Person(Side.USER, line or connected_line())
    if phase not in (Phase.WAITING, Phase.CLOSED):
        await grant(person)
    if phase in (Phase.HANGING_UP, Phase.HUNG_UP):
        person.hang_up()
    if phase is Phase.HUNG_UP:
        await grant(person)
    if phase is Phase.CLOSED:
        await person.close()
    assert person.phase is phase
    return person


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (Phase.WAITING, Phase.TALKING),
        (Phase.TALKING, Phase.TALKING),
        (Phase.HANGING_UP, Phase.HUNG_UP),
        (Phase.HUNG_UP, Phase.HUNG_UP),
    ],
)
async def test_grant_begins_the_call_and_carries_out_hanging_up(before: Phase, after: Phase) -> None:
    person = await in_phase(before)
    await grant(person)
    assert person.phase is after


@pytest.mark.parametrize("before", [Phase.WAITING, Phase.TALKING, Phase.HANGING_UP, Phase.HUNG_UP])
async def test_person_may_hang_up_at_any_time_and_again(before: Phase) -> None:
    person = await in_phase(before)
    person.hang_up()
    reply = await (await person.start_grant(SILENCE))
    assert [item.data for item in reply.inbound if isinstance(item, RtviMessage)] == [
        {"text": f"<exit>{CALLER_GOODBYE}</exit>"}
    ]
    assert person.phase is Phase.HUNG_UP


@pytest.mark.parametrize("before", list(Phase))
async def test_call_lets_a_person_go_for_good(before: Phase) -> None:
    person = await in_phase(before)
    person.abort()
    person.hang_up()
    assert person.phase is Phase.CLOSED and not person.is_usable
    with pytest.raises(BotUnavailable, match="is gone"):
        await grant(person)


@pytest.mark.parametrize("phase", [phase for phase in Phase if phase is not Phase.TALKING])
async def test_tools_are_used_while_talking_only(phase: Phase) -> None:
    person = await in_phase(phase)
    with pytest.raises(ValueError, match="during the call only"):
        person.press("pay_bill", {})
    talking = await in_phase(Phase.TALKING)
    assert talking.press("pay_bill", {}) == "press-1"


@pytest.mark.parametrize(
    ("phase", "is_heard"), [(Phase.TALKING, True), (Phase.HANGING_UP, False), (Phase.HUNG_UP, False)]
)
async def test_microphone_is_off_from_hanging_up_on(phase: Phase, is_heard: bool) -> None:
    person = await in_phase(phase, line := connected_line())
    for _ in range(LEAD_TICKS):
        line.microphone.put(LOUD)
    assert (await grant(person) == LOUD) is is_heard


async def test_what_was_said_before_the_call_is_not_heard_in_it() -> None:
    person = Person(Side.USER, line := connected_line())
    for _ in range(LEAD_TICKS):
        line.microphone.put(LOUD)
    assert await grant(person) == SILENCE
