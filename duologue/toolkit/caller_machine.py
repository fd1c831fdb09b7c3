"""Callers that are state machines: what they are told, and what they can do about it. Pure, without a clock.

A machine is told everything that happens on the line, in order, and answers each time with its moves. All times are
media time in milliseconds, so that two runs against the same agent are the same. Whatever is random in a machine is
drawn from the seed of its setup.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pydantic import JsonValue

from duologue.errors import ScenarioError
from duologue.records.caller import MachineCaller
from duologue.records.scenario import Scenario
from duologue.registry import Registry

__all__ = [
    "AgentStarted",
    "AgentStopped",
    "CallerMachine",
    "ClipEnded",
    "HangUp",
    "Happening",
    "MachineFactory",
    "MachineSetup",
    "Move",
    "PlayClip",
    "TimePassed",
    "WordsHeard",
    "caller_machine",
]


@dataclass(frozen=True, slots=True)
class AgentStarted:
    """The agent's voice is heard from ``at_ms`` on, for the first time in its turn."""

    at_ms: int


@dataclass(frozen=True, slots=True)
class AgentStopped:
    """The agent's turn is over, and its voice ended at ``ended_ms``.

    It has not spoken or thought, and no tool was running, for a while (0.8 s unless the run says otherwise), or when a
    clip of the caller ended.
    """

    at_ms: int
    ended_ms: int


@dataclass(frozen=True, slots=True)
class WordsHeard:
    """The agent said ``text``, by its own account; an agent that gives none is heard without words."""

    at_ms: int
    text: str


@dataclass(frozen=True, slots=True)
class ClipEnded:
    """The clip ``name`` was played to its end."""

    at_ms: int
    name: str


@dataclass(frozen=True, slots=True)
class TimePassed:
    """It is ``at_ms``; comes last in every step of the line.

    ``is_agent_busy``: the agent speaks, thinks or has a tool running. ``is_agent_audible``: its voice is heard.
    """

    at_ms: int
    is_agent_busy: bool
    is_agent_audible: bool


Happening = AgentStarted | AgentStopped | WordsHeard | ClipEnded | TimePassed


@dataclass(frozen=True, slots=True)
class PlayClip:
    """Play the clip ``name`` at ``at_ms``, at once when that is past; never before the moves before it are done."""

    name: str
    at_ms: int


@dataclass(frozen=True, slots=True)
class HangUp:
    """Hang up once the moves before it are done. The machine is told nothing more."""


Move = PlayClip | HangUp


class CallerMachine(Protocol):
    """Decides what a caller does."""

    def take(self, happening: Happening) -> Sequence[Move]:
        """Return what the caller does about ``happening``: nothing, or moves that are made in their order."""
        ...


@dataclass(frozen=True, slots=True)
class MachineSetup:
    """What a machine is made of.

    Args:
        settings: those of the scenario's caller.
        clip_ms: the length of every clip in milliseconds, by name.
        seed: what everything random is drawn from; equal for equal attempts.
    """

    settings: Mapping[str, JsonValue]
    clip_ms: Mapping[str, int]
    seed: str


MachineFactory = Callable[[MachineSetup], CallerMachine]

CALLER_MACHINES: Registry[MachineFactory] = Registry("caller machine")


def caller_machine(domain: str, name: str) -> Callable[[MachineFactory], MachineFactory]:
    """Register what makes the machine ``name`` for one attempt: a function or a class."""

    def register(factory: MachineFactory) -> MachineFactory:
        CALLER_MACHINES.register(domain, name, factory, owner=factory.__module__)
        return factory

    return register


def build_machine(scenario: Scenario, caller: MachineCaller, clip_ms: Mapping[str, int], seed: str) -> CallerMachine:
    """Return the machine of ``caller`` for one attempt.

    Raises:
        RegistryError: the scenario's domain has no such machine.
    """
    factory = CALLER_MACHINES.get(scenario.domain, caller.machine)
    return factory(MachineSetup(caller.settings, clip_ms, seed))


def unknown_clip(scenario_name: str, name: str, clips: Mapping[str, object]) -> ScenarioError:
    """Return the error of a machine that plays a clip that its caller does not have."""
    return ScenarioError(
        f"{scenario_name}: its caller plays the clip {name!r}, but has only {', '.join(sorted(clips))}"
    )
