"""From a name on the command line to a turn agent that can be reached."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from duologue.clock import Clock
from duologue.errors import ConfigError
from duologue.turn_agents.eliza import ElizaAgent, eliza_settings
from duologue.turn_agents.endpoint import EndpointSettings, JsonEndpoint
from duologue.turn_agents.hermes import DEFAULT_MODEL as HERMES_MODEL
from duologue.turn_agents.hermes import HermesAgent, hermes_settings
from duologue.turn_agents.openclaw import DEFAULT_MODEL as OPENCLAW_MODEL
from duologue.turn_agents.openclaw import OpenClawAgent, openclaw_settings
from duologue.turn_agents.turn import TurnAgent

_SETTINGS: dict[str, Callable[[str, Mapping[str, str]], EndpointSettings]] = {
    "eliza": eliza_settings,
    "hermes": hermes_settings,
    "openclaw": openclaw_settings,
}

ADAPTERS = tuple(_SETTINGS)
"""The adapters over HTTP."""


@asynccontextmanager
async def opened_turn_agent(
    choice: str, *, url: str = "", env: Mapping[str, str], clock: Clock
) -> AsyncIterator[TurnAgent]:
    """Give the turn agent ``choice`` and close it afterwards: an adapter's connections, or a class's own ``close``.

    Args and errors are those of :func:`build_turn_agent`.
    """
    agent = await build_turn_agent(choice, url=url, env=env, clock=clock)
    try:
        yield agent
    finally:
        endpoint = getattr(agent, "endpoint", None)
        close = endpoint.close if isinstance(endpoint, JsonEndpoint) else getattr(agent, "close", None)
        result = close() if callable(close) else None
        if inspect.isawaitable(result):
            await result


async def build_turn_agent(choice: str, *, url: str = "", env: Mapping[str, str], clock: Clock) -> TurnAgent:
    """Return the turn agent ``choice``, still to be closed; see :func:`opened_turn_agent`.

    Args:
        choice: ``eliza``, ``hermes``, ``openclaw``, or ``module:Class`` for a class (or a function that builds one)
            whose instances are asynchronous callables ``(history, tool_manifest) -> turn``.
        url: address of the agent; a class of one's own gets it as ``url=`` when it is given.
        env: the environment, for addresses, tokens and times.
        clock: time for waiting until the agent accepts connections.

    Raises:
        ConfigError: the choice is unknown, cannot be imported or built, or a setting is malformed.
        TurnAgentUnavailable: nothing accepts connections at the address.
    """
    if choice not in _SETTINGS:
        return await _own(choice, url)
    endpoint = JsonEndpoint(_SETTINGS[choice](url, env))
    await endpoint.wait_until_reachable(clock)
    if choice == "hermes":
        return HermesAgent(endpoint, env.get("HERMES_MODEL") or HERMES_MODEL)
    if choice == "openclaw":
        return OpenClawAgent(endpoint, env.get("OPENCLAW_MODEL") or OPENCLAW_MODEL)
    return ElizaAgent(endpoint)


async def _own(choice: str, url: str) -> TurnAgent:
    module_name, _, attribute = choice.partition(":")
    if not module_name or not attribute:
        raise ConfigError(f"unknown adapter {choice!r}; known: {', '.join(ADAPTERS)}, or module:Class")
    try:
        factory: Any = importlib.import_module(module_name)
        for part in attribute.split("."):
            factory = getattr(factory, part)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"adapter {choice}: {error}; is its folder on PYTHONPATH?") from error
    try:
        agent = factory(url=url) if url else factory()
        agent = await agent if inspect.isawaitable(agent) else agent
    except TypeError as error:
        raise ConfigError(f"adapter {choice} cannot be built: {error}") from error
    if not callable(agent):
        raise ConfigError(f"adapter {choice}: an instance must be an asynchronous callable (history, tool_manifest)")
    own: TurnAgent = agent
    return own
