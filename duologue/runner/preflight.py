"""Before a run: is each bot there, and does each model answer? One clear error instead of a failed attempt each."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from duologue.bridge.connection import BotConnection
from duologue.clock import Clock
from duologue.errors import BotError, PreflightFailed
from duologue.protocol.messages import ControlRequest
from duologue.protocol.replies import BotAbout, parse_report
from duologue.records.action import Side
from duologue.runner.settings import RunSettings

CONNECT_S = 6.0  # bots that load their models listen within this time of their start
HANDSHAKE_S = 8.0  # a busy machine with cold models answers within this time
_ONE_SIDED = {"scripted_user": Side.USER, "reference": Side.AGENT, "wrong_action": Side.AGENT}
"""Brains that can play one side only."""

MODEL_S = 30.0
"""Wall seconds that a model has for its first answer; a bot that names a longer bound gets that."""


async def check_bots(settings: RunSettings, sides: Iterable[Side], clock: Clock) -> None:
    """Connect to each bot, shake hands, have it ask its model, and leave. In real time only connect.

    Args:
        settings: the run's settings: addresses, token, protocol.
        sides: the bots that the run needs.
        clock: wall time.

    Raises:
        PreflightFailed: one line for each bot that cannot take part: its address, what is wrong, what to do.
    """
    problems = await asyncio.gather(*(_problem(settings, side, clock) for side in sides))
    found = [problem for problem in problems if problem]
    if found:
        raise PreflightFailed("\n".join(found))


async def _problem(settings: RunSettings, side: Side, clock: Clock) -> str:
    url = settings.agent_url if side is Side.AGENT else settings.user_url
    connection = BotConnection(side, url, clock, token=settings.token)
    url = connection.url
    try:
        await connection.open(CONNECT_S)
        if settings.bot_protocol == "realtime":
            return ""
        about = await connection.handshake(HANDSHAKE_S)
        if problem := _swapped(side, url, about):
            return problem
        if not about.preflight:
            return ""
        _, answer = await connection.request(ControlRequest("preflight"), max(MODEL_S, about.max_tick_s))
        errors = parse_report(answer).errors
    except BotError as error:
        return str(error)
    except ValueError as error:
        return f"the {side} bot at {url} answered the preflight with something else: {error}"
    finally:
        await connection.close()
    return _worded(side, url, errors)


def _swapped(side: Side, url: str, about: BotAbout) -> str:
    """Return what is wrong when a bot plays the other side's part; brains that can play both are taken on trust."""
    capabilities = about.about.get("capabilities")
    brain = capabilities.get("brain") if isinstance(capabilities, dict) else None
    if brain not in _ONE_SIDED or _ONE_SIDED[brain] is side:
        return ""
    return (
        f"the {side} bot at {url} plays the {side.other} (llm.type {brain}); "
        "are --agent-url and --user-url, or the configurations of the two bots, swapped?"
    )


def _worded(side: Side, url: str, errors: Iterable[str]) -> str:
    text = "; ".join(errors)
    remedy = "start the model server, or correct llm.base_url, llm.model and llm.api_key in its YAML file"
    return f"the {side} bot at {url} is there, but {text}; {remedy}" if text else ""
