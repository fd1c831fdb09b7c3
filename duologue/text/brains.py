"""What decides for the two sides of a call without sound."""

from __future__ import annotations

from duologue.brains.brain import Brain, build_brain
from duologue.bridge.settings import PlanPayload
from duologue.records.action import Side
from duologue.records.scenario import Scenario
from duologue.text.caller import build_text_caller


def brain_payload(scenario: Scenario, side: Side, plan: PlanPayload | None = None) -> dict[str, object]:
    """Return what a brain of ``side`` is told of the scenario; the plan only for the agent.

    Without ``plan`` the agent is told the reference plan alone.
    """
    payload: dict[str, object] = {
        "name": scenario.name,
        "domain": scenario.domain,
        "family": scenario.family,
        "profile": scenario.profile,
        "facts": scenario.side(side).facts,
    }
    if side is Side.AGENT:
        payload.update((plan or PlanPayload(scenario.reference_actions)).fields())
    return payload


def build_agent(scenario: Scenario, kind: str, plan: PlanPayload | None = None, *, mutation: str = "") -> Brain:
    """Return the agent ``kind``; ``mutation`` is the wrong plan that it walks, for a kind that walks one.

    Raises:
        ConfigError: the kind is unknown, or needs what its domain or ``plan`` lacks.
    """
    return build_brain(kind, brain_payload(scenario, Side.AGENT, plan), {"mutation": mutation})


def build_user(scenario: Scenario, seed: str) -> Brain:
    """Return the scenario's caller, a scripted one where a bot would call; ``seed`` is of everything random in it.

    Raises:
        ConfigError: the domain has no phrasebook for a scripted caller.
        FixtureError: the words of something that a caller plays are not known.
        RegistryError: the domain does not have the caller's machine.
    """
    scripted = build_text_caller(scenario, seed)
    return scripted or build_brain("scripted_user", brain_payload(scenario, Side.USER), {})
