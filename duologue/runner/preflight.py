"""Before a run: is each bot there, and does each model answer? One clear error instead of a failed attempt each."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from duologue.bridge.connection import BotConnection
from duologue.clock import Clock
from duologue.errors import BotError, PreflightFailed
from duologue.protocol.messages import ControlRequest
from duologue.protocol.replies import parse_report
from duologue.records.action import Side
from duologue.runner.settings import RunSettings

CONNECT_S = 6.0
HANDSHAKE_S = 8.0
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
    try:
        await connection.open(CONNECT_S)
        if settings.bot_protocol == "realtime":
            return ""
        about = await connection.handshake(HANDSHAKE_S)
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


def _worded(side: Side, url: str, errors: Iterable[str]) -> str:
    text = "; ".join(errors)
    remedy = "start the model server, or correct llm.base_url, llm.model and llm.api_key in its YAML file"
    return f"the {side} bot at {url} is there, but {text}; {remedy}" if text else ""
