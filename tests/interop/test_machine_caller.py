"""A caller that is a state machine, with an agent that is not ours, in real time."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from duologue.bridge.clip import Clip
from duologue.records import event as ev
from duologue.records.caller import ClipSource, MachineCaller
from duologue.records.outcome import StopReason
from duologue.toolkit.caller_machine import (
    CALLER_MACHINES,
    AgentStopped,
    ClipEnded,
    HangUp,
    Happening,
    MachineSetup,
    Move,
    PlayClip,
)
from tests.bridge.counter_shop import DOMAIN, shop_scenario
from tests.bridge.test_machine_caller import LOUD
from tests.interop.foreign_bot import ForeignBot, tone
from tests.interop.shop_bots import shop_bot
from tests.interop.stage import play

pytestmark = [pytest.mark.socket, pytest.mark.slow]


class Polite:
    """Answers the first turn with its one clip, and hangs up."""

    def __init__(self, setup: MachineSetup) -> None:
        pass

    def take(self, happening: Happening) -> Sequence[Move]:
        match happening:
            case AgentStopped(at_ms):
                return (PlayClip("yes", at_ms),)
            case ClipEnded():
                return (HangUp(),)
        return ()


async def test_machine_hears_a_foreign_agent_answers_and_hangs_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CALLER_MACHINES, "_entries", {(DOMAIN, "polite"): Polite})

    async def greets(bot: ForeignBot) -> None:
        await bot.play(tone(0.5))

    caller = MachineCaller(machine="polite", clips={"yes": ClipSource(text="Yes.")})
    scenario = shop_scenario(caller=caller, has_user_state=False, user_needs_tools=False, initialization_actions=())
    played = await play(tmp_path, shop_bot(greets), scenario=scenario, clips={"yes": Clip(LOUD * 20)})
    ended = played.trace.last(ev.CallEnded)
    assert played.trace.of(ev.Fault) == []
    assert [event.clip for event in played.trace.of(ev.UtterancePlayed)] == ["yes"]
    assert ended is not None and ended.stop_reason is StopReason.CALLER_DONE
    assert played.tracks.agent_heard.any()
