"""Resources: what a domain's tools work on beside the databases, such as an HTTP service. Each attempt has a clone.

A domain registers a class of its own under a name::

    @resource("garage", "bookings")
    class Bookings(Resource): ...

It is started once for a run and cloned for each attempt. Tools that are ``async def`` and name it in ``uses`` get the
``handle`` of the attempt's clone. What a clone holds before and after the call is part of the trace.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal

from pydantic import JsonValue

from duologue.errors import ResourceFailed
from duologue.records.event import ResourceSnapshot
from duologue.records.scenario import Scenario
from duologue.registry import Registry
from duologue.state.canonical import canonical_text, digest

__all__ = [
    "CloneOrder",
    "RESOURCES",
    "Resource",
    "ResourceClone",
    "ResourceFactory",
    "ResourceSetup",
    "resource",
]

MAX_SNAPSHOT_BYTES = 1 << 20
"""How large a snapshot may be as canonical JSON: two of each clone stand in every trace."""

ANSWER_S = 10.0
"""Seconds of real time that a clone has for each answer; a loopback service answers in milliseconds."""


@dataclass(frozen=True, slots=True)
class ResourceSetup:
    """What a resource is made of. ``url``: where one runs that somebody else started; empty when it starts its own."""

    url: str = ""


@dataclass(frozen=True, slots=True)
class CloneOrder:
    """What a clone is made for.

    Args:
        epoch: names the attempt; equal for equal attempts, also of two runs at once, so it is no credential.
        scenario: what is played.
        data: what the scenario's ``resource_data`` says for this resource; None when it says nothing.
    """

    epoch: str
    scenario: Scenario
    data: JsonValue


class ResourceClone(ABC):
    """What one attempt has of a resource. No other attempt sees it."""

    @property
    @abstractmethod
    def handle(self) -> object:
        """What the tools use: a client with address and credential, or the state itself."""

    @abstractmethod
    async def snapshot(self) -> JsonValue:
        """Return everything that it holds and that may count; equal for equal attempts."""

    async def digest(self) -> str:
        """Return what tells whether anything has changed; by default the digest of the snapshot."""
        return digest(await self.snapshot())

    @abstractmethod
    async def restore(self, snapshot: JsonValue) -> None:
        """Go back to what an earlier snapshot of this clone held."""

    @abstractmethod
    async def close(self) -> None:
        """Give up what the clone holds; also called after it was lost."""


class Resource(ABC):
    """A resource with a life: started once for a run, then cloned, at last closed."""

    @abstractmethod
    async def start(self) -> None:
        """Get ready. On a failure, ``close`` is called all the same."""

    async def is_alive(self) -> bool:
        """Return whether it can be cloned; one that cannot is closed, and a new one started. True by default."""
        return True

    @abstractmethod
    async def clone(self, order: CloneOrder) -> ResourceClone:
        """Return a clone for one attempt, in the state that its order asks for."""

    @abstractmethod
    async def close(self) -> None:
        """Stop what was started; all clones are closed by then."""


ResourceFactory = Callable[[ResourceSetup], Resource]

RESOURCES: Registry[ResourceFactory] = Registry("resource")


def resource(domain: str, name: str) -> Callable[[ResourceFactory], ResourceFactory]:
    """Register what makes the resource ``name``: a class or a function that takes a setup."""

    def register(factory: ResourceFactory) -> ResourceFactory:
        RESOURCES.register(domain, name, factory, owner=factory.__module__)
        return factory

    return register


@asynccontextmanager
async def resource_work(name: str, what: str, limit_s: float) -> AsyncIterator[None]:
    """Give a resource ``limit_s`` seconds for ``what``; whatever goes wrong is raised as ResourceFailed."""
    try:
        async with asyncio.timeout(limit_s):
            yield
    except ResourceFailed:
        raise
    except TimeoutError as error:
        raise ResourceFailed(name, f"{what}: no answer within {limit_s:g} s") from error
    except Exception as error:
        raise ResourceFailed(name, f"{what}: {type(error).__name__}: {error}") from error


@dataclass(slots=True)
class Clones:
    """The clones of one attempt by name. Every failure of one is a ResourceFailed, and is kept in ``failure``."""

    clones: Mapping[str, ResourceClone] = field(default_factory=dict)
    limit_s: float = ANSWER_S
    failure: ResourceFailed | None = None

    def handles(self, names: Sequence[str]) -> dict[str, object]:
        """Return what tools use of the clones ``names``.

        Raises:
            ResourceFailed: the attempt has no such clone.
        """
        for name in names:
            if name not in self.clones:
                raise self.failed(ResourceFailed(name, "this attempt has no clone of it"))
        return {name: self.clones[name].handle for name in names}

    async def snapshots(self, moment: Literal["initial", "final"]) -> list[ResourceSnapshot]:
        """Return what every clone holds, as events.

        Raises:
            ResourceFailed: a clone does not answer, or holds more than a trace takes.
        """
        held = await self.hold(tuple(self.clones))
        return [item.model_copy(update={"moment": moment}) for item in held.before]

    async def hold(self, names: Sequence[str]) -> HeldClones:
        """Take note of what the clones ``names`` hold, so that they can be put back.

        Raises:
            ResourceFailed: a clone does not answer, or holds more than a trace takes.
        """
        return HeldClones(self, tuple([await self._read(name) for name in names]))

    async def mark(self, name: str) -> str:
        """Return the digest of one clone. Raises ResourceFailed when it does not answer."""
        async with self.work(name, "its digest"):
            return await self.clones[name].digest()

    @asynccontextmanager
    async def work(self, name: str, what: str) -> AsyncIterator[None]:
        """Ask something of a clone, within the bound."""
        try:
            async with resource_work(name, what, self.limit_s):
                yield
        except ResourceFailed as error:
            raise self.failed(error) from error.__cause__

    def failed(self, error: ResourceFailed) -> ResourceFailed:
        """Keep a failure and return it."""
        self.failure = self.failure or error
        return error

    async def _read(self, name: str) -> ResourceSnapshot:
        clone = self.clones[name]
        async with self.work(name, "its snapshot"):
            data = await clone.snapshot()
            size = len(canonical_text(data))
            if size > MAX_SNAPSHOT_BYTES:
                raise ValueError(f"{size} bytes, more than {MAX_SNAPSHOT_BYTES}; leave out what no check looks at")
            is_plain = type(clone).digest is ResourceClone.digest
            return ResourceSnapshot(name=name, digest=digest(data) if is_plain else await clone.digest(), data=data)


@dataclass(frozen=True, slots=True)
class HeldClones:
    """What some clones held at one moment."""

    clones: Clones
    before: tuple[ResourceSnapshot, ...]

    async def has_changed(self) -> bool:
        """Return whether one of them holds something else now. Raises ResourceFailed when one does not answer."""
        return any([await self.clones.mark(item.name) != item.digest for item in self.before])

    async def undo(self) -> None:
        """Put every one of them back.

        Raises:
            ResourceFailed: one does not answer, or does not hold what it held after it was put back.
        """
        for item in self.before:
            if await self.clones.mark(item.name) == item.digest:
                continue
            async with self.clones.work(item.name, "going back to a snapshot"):
                await self.clones.clones[item.name].restore(item.data)
            if await self.clones.mark(item.name) != item.digest:
                raise self.clones.failed(ResourceFailed(item.name, "it did not go back to its snapshot"))
