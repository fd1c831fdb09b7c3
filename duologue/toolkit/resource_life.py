"""The life of resources: started once for a run, cloned for each attempt, closed in reverse order, whatever happens."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass, field

from duologue.errors import RegistryError, ResourceFailed
from duologue.records.action import Side
from duologue.records.scenario import Scenario
from duologue.toolkit.resources import (
    ANSWER_S,
    RESOURCES,
    CloneOrder,
    Clones,
    Resource,
    ResourceClone,
    ResourceSetup,
    resource_work,
)
from duologue.toolkit.side_host import find_tools

START_S = 30.0
"""Seconds of real time that all resources of a run have to start in; they start at once."""

logger = logging.getLogger(__name__)

Key = tuple[str, str]
"""Domain and name."""


@dataclass(slots=True)
class _Kept:
    """A resource of the run; ``running`` is None while none is started."""

    key: Key
    setup: ResourceSetup
    running: Resource | None = None
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)


class RunResources:
    """The resources of a run. Made by :func:`started_resources`.

    Args:
        start_s: bound of a start, in seconds of real time.
        answer_s: bound of every other request to a resource or a clone.
    """

    def __init__(self, start_s: float = START_S, answer_s: float = ANSWER_S) -> None:
        self._start_s = start_s
        self._answer_s = answer_s
        self._kept: dict[Key, _Kept] = {}

    @asynccontextmanager
    async def cloned(self, scenario: Scenario, epoch: str) -> AsyncIterator[Clones]:
        """Give one attempt its clones, and close them after it, the last one first.

        A resource that does not live any more is closed and started again before.

        Raises:
            ResourceFailed: a resource could not be started again or cloned.
        """
        clones: dict[str, ResourceClone] = {}
        async with AsyncExitStack() as stack:
            for name in used_resources(scenario):
                kept = await self._living((scenario.domain, name))
                order = CloneOrder(epoch, scenario, scenario.resource_data.get(name))
                async with resource_work(name, "cloning it", self._answer_s):
                    clones[name] = await kept.clone(order)
                stack.push_async_callback(self._close, name, clones[name])
            yield Clones(clones, self._answer_s)

    async def start(self, keys: Iterable[Key], urls: Mapping[str, str]) -> None:
        """Start resources, all at once.

        Raises:
            ResourceFailed: one could not be started in time; the others are left as they are.
        """
        self._kept = {key: _Kept(key, ResourceSetup(urls.get(key[1], ""))) for key in keys}
        try:
            async with asyncio.TaskGroup() as group:
                for kept in self._kept.values():
                    group.create_task(self._start(kept))
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None

    async def close(self) -> None:
        """Close every resource, the last one first. What does not close in time is logged and left."""
        for kept in reversed(self._kept.values()):
            await self._stop(kept)

    async def _start(self, kept: _Kept) -> None:
        domain, name = kept.key
        kept.running = RESOURCES.get(domain, name)(kept.setup)
        try:
            async with resource_work(name, "starting", self._start_s):
                await kept.running.start()
        except ResourceFailed as error:
            remedy = f"--resource {name} names an address at which it does not answer"
            if not kept.setup.url:
                remedy = f"see the log, or start it by hand and give its address with --resource {name}=URL"
            raise ResourceFailed(
                name, f"domain {domain} cannot be run without it; {error.problem}; {remedy}"
            ) from error

    async def _living(self, key: Key) -> Resource:
        """Return a resource that can be cloned, started again if need be."""
        kept = self._kept.get(key)
        if kept is None:
            raise ResourceFailed(key[1], "it was not started with the run")
        async with kept.turn:
            if kept.running is not None:
                problem = await self._problem(key[1], kept.running)
                if not problem:
                    return kept.running
                logger.warning("a resource is started again", extra={"resource": key[1], "problem": problem})
                await self._stop(kept)
            try:
                await self._start(kept)
            except ResourceFailed:
                await self._stop(kept)
                raise
            assert kept.running is not None
            return kept.running

    async def _problem(self, name: str, running: Resource) -> str:
        try:
            async with resource_work(name, "asking whether it lives", self._answer_s):
                return "" if await running.is_alive() else "it does not live any more"
        except ResourceFailed as error:
            return error.problem

    async def _stop(self, kept: _Kept) -> None:
        running, kept.running = kept.running, None
        if running is not None:
            await self._close(kept.key[1], running)

    async def _close(self, name: str, item: Resource | ResourceClone) -> None:
        try:
            async with resource_work(name, "closing", self._answer_s):
                await item.close()
        except ResourceFailed as error:
            logger.warning("%s", error)


@asynccontextmanager
async def started_resources(
    scenarios: Iterable[Scenario],
    urls: Mapping[str, str] | None = None,
    *,
    start_s: float = START_S,
    answer_s: float = ANSWER_S,
) -> AsyncIterator[RunResources]:
    """Start what ``scenarios`` use, and close it at the end, also when something failed to start.

    ``urls`` says by name where a resource runs that somebody else started.

    Raises:
        ResourceFailed: one could not be started in time.
        RegistryError: ``urls`` names a resource that no scenario uses.
    """
    keys = dict.fromkeys((scenario.domain, name) for scenario in scenarios for name in used_resources(scenario))
    for name in urls or {}:
        if name not in {used for _, used in keys}:
            known = ", ".join(dict.fromkeys(used for _, used in keys)) or "none"
            raise RegistryError(f"--resource {name}: no scenario of this run uses it; used: {known}")
    resources = RunResources(start_s, answer_s)
    try:
        await resources.start(keys, urls or {})
        yield resources
    finally:
        await resources.close()


def attempt_clones(
    resources: RunResources | None, scenario: Scenario, epoch: str
) -> AbstractAsyncContextManager[Clones]:
    """Return the clones of one attempt for its time; none when the run has no resources."""
    return resources.cloned(scenario, epoch) if resources is not None else nullcontext(Clones())


def used_resources(scenario: Scenario) -> tuple[str, ...]:
    """Return the resources that the tools of a scenario work on, in the order in which the domain registered them.

    Raises:
        RegistryError: a tool is unknown or cannot be used, or ``resource_data`` names a resource that none uses.
    """
    names = RESOURCES.names(scenario.domain)
    wanted = [scenario.side(side).resources.tools for side in Side] if names else []
    used = {name for tools in wanted for tool in find_tools(scenario.domain, tools).values() for name in tool.uses}
    for name in scenario.resource_data:
        if name not in used:
            known = ", ".join(sorted(used)) or "none"
            raise RegistryError(f"{scenario.name}: no tool uses the resource {name!r} of resource_data; used: {known}")
    return tuple(name for name in names if name in used)
