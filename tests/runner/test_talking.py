import asyncio
from collections.abc import Sequence
from pathlib import Path

import aiohttp
import pytest

from duologue.clock import SystemClock
from duologue.errors import ConfigError
from duologue.records.action import Side
from duologue.records.caller import FrozenUtterance, RecordedCaller
from duologue.records.outcome import OutcomeKind, StopReason
from duologue.runner.batch import Batch
from duologue.runner.build import build_scenarios
from duologue.runner.observer import SilentObserver
from duologue.runner.settings import RunSettings, Selection
from duologue.runner.talking import PageSettings, check_talk, conduct_talk
from duologue.talk.desk import Desk
from duologue.talk.phone_line import PhoneLine
from duologue.testing.scripted_bot import BotScript, ScriptedBot, exit_push
from tests.bridge.counter_shop import shop_scenario

NAME = "tau2_telecom__service_issue__airplane_mode_on__unseat_sim_card"


class InstantLine(PhoneLine):
    """Comes up with the first offer."""

    async def answer(self, sdp: str) -> str:
        self.came_up()
        return sdp


async def visit(url: str) -> Sequence[dict[str, object]]:
    """Open the page, start the call, and return all that the page was told until it was over."""
    async with aiohttp.ClientSession() as client, client.ws_connect(url + "api/live") as page:
        await client.post(url + "api/offer", json={"type": "offer", "sdp": "v=0"})
        return [message.json() async for message in page]


@pytest.mark.slow
@pytest.mark.socket
async def test_call_with_a_person_is_run_scored_and_shown(tmp_path: Path) -> None:
    (scenario,) = build_scenarios(Selection(names=(NAME,)))
    batch, desk = Batch.plan([scenario], tmp_path), Desk(scenario, Side.USER, InstantLine())
    visits: list[asyncio.Task[Sequence[dict[str, object]]]] = []
    async with ScriptedBot(BotScript(messages={20: [exit_push()]})) as agent:
        await conduct_talk(
            RunSettings(agent_url=agent.url, pace="wall", min_agent_turns=0),
            PageSettings(port=0),
            batch,
            desk,
            SilentObserver(),
            SystemClock(),
            lambda url: visits.append(asyncio.create_task(visit(url))),
        )
    (result,) = batch.results
    assert (result.outcome.kind, result.stop_reason) == (OutcomeKind.FAILED, StopReason.EXIT)
    told = await visits[0]
    assert [message["status"] for message in told if message["type"] == "status"][-1] == "ended"
    (outcome,) = [message for message in told if message["type"] == "outcome"]
    assert (outcome["kind"], outcome["folder"]) == ("failed", str(batch.attempts[0].folder))


def test_recorded_callers_leave_no_side_for_a_person() -> None:
    with pytest.raises(ConfigError, match="its caller is a recording"):
        check_talk(
            shop_scenario(
                caller=RecordedCaller(utterances=(FrozenUtterance(text="Hi."),)),
                has_user_state=False,
                user_needs_tools=False,
            )
        )
