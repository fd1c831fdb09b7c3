"""Nothing is run when a bot or its model is not there."""

from pathlib import Path

import pytest

from duologue.bots.services import Models, load_models
from duologue.clock import SystemClock
from duologue.config import BotConfig
from duologue.errors import PreflightFailed
from duologue.records.action import Side
from duologue.runner.preflight import check_bots
from duologue.runner.settings import RunSettings
from duologue.testing.model_script import scripted
from duologue.testing.openai_server import ModelServer
from duologue.testing.scripted_bot import BotScript, ScriptedBot
from tests.bots.running_bot import RunningBot

pytestmark = [pytest.mark.socket, pytest.mark.speech]


@pytest.fixture(scope="module")
def models() -> Models:
    return load_models(BotConfig())


def bot(models: Models, **llm: object) -> RunningBot:
    return RunningBot(BotConfig.model_validate({"server": {"port": 0}, "llm": {"retries": 0, **llm}}), models)


async def check(agent: str, user: str) -> str:
    """Return what the preflight of a run with these bots says."""
    settings = RunSettings(agent_url=agent, user_url=user)
    try:
        await check_bots(settings, list(Side), SystemClock())
    except PreflightFailed as error:
        return str(error)
    return ""


async def test_bots_whose_models_answer_may_run(models: Models) -> None:
    with (
        ModelServer(scripted([])) as server,
        bot(models) as agent,
        bot(models, type="openai", model="m", base_url=server.url) as user,
    ):
        assert await check(agent.url, user.url) == ""
    (probe,) = server.requests
    assert probe.body["max_tokens"] == 1


async def test_every_bot_that_cannot_take_part_is_named_with_its_remedy(models: Models, tmp_path: Path) -> None:
    llm = {"type": "openai", "model": "m", "base_url": "http://127.0.0.1:9/v1"}
    with bot(models, **llm) as user:
        agent_line, user_line = (await check("ws://127.0.0.1:9", user.url)).splitlines()
    assert agent_line.startswith("cannot reach the agent bot at ws://127.0.0.1:9 (connection refused); start the agent")
    assert f"the user bot at {user.url} is there, but the model m at http://127.0.0.1:9/v1 gave no reply" in user_line
    assert "correct llm.base_url, llm.model and llm.api_key" in user_line


async def test_bot_that_knows_no_preflight_is_only_greeted() -> None:
    async with ScriptedBot(BotScript()) as agent, ScriptedBot(BotScript()) as user:
        assert await check(agent.url, user.url) == ""


async def test_swapped_addresses_are_found_before_the_run() -> None:
    caller, agent = (BotScript(capabilities={"brain": brain}) for brain in ("scripted_user", "reference"))
    async with ScriptedBot(caller) as caller_bot, ScriptedBot(agent) as agent_bot:
        assert await check(agent_bot.url, caller_bot.url) == ""
        lines = (await check(caller_bot.url, agent_bot.url)).splitlines()
        assert await check(caller_bot.url, caller_bot.url) == lines[0]
    assert lines[0].startswith(
        f"the agent bot at {caller_bot.url} plays the user (llm.type scripted_user); are --agent"
    )
    assert lines[1].startswith(f"the user bot at {agent_bot.url} plays the agent (llm.type reference)")
