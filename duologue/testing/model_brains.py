"""Competent models by script: the pure brains behind a chat completion request."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from duologue.brains.brain import build_brain
from duologue.errors import ConfigError
from duologue.records.scenario import Scenario
from duologue.runner.batch import Batch
from duologue.runner.bot_calls import build_plan
from duologue.testing.model_script import ChatRequest, ModelCall, ModelReply, without_bad_calls

CALLER_MODELS = frozenset({"scripted_user"})
"""The models that play the user side; all others play the agent."""

PHONE_NUMBER = "phone_number"


@dataclass(frozen=True, slots=True)
class Script:
    """What the models of one attempt may know: the payloads of both sides."""

    agent: Mapping[str, Any]
    user: Mapping[str, object]

    def payload(self, model: str) -> dict[str, Any]:
        """Return the payload of the side that a model plays."""
        return dict(self.user if model in CALLER_MODELS else self.agent)


def build_script(scenario: Scenario) -> Script:
    """Return the script of one scenario."""
    base = {"name": scenario.name, "domain": scenario.domain, "family": scenario.family}
    plan = build_plan(scenario).fields()
    return Script({**base, "facts": scenario.agent.facts, **plan}, {**base, "facts": scenario.user.facts})


def scripts_by_epoch(scenarios: Iterable[Scenario], *, attempts: int = 1, seed: int = 0) -> dict[str, Script]:
    """Return the scripts of every attempt that a run of these scenarios, trials and seed makes."""
    planned = Batch.plan(list(scenarios), Path(), seed=seed, trials=attempts).attempts
    scripts = {attempt.scenario.name: build_script(attempt.scenario) for attempt in planned if attempt.number == 1}
    return {attempt.epoch: scripts[attempt.scenario.name] for attempt in planned}


@dataclass(slots=True)
class BrainModels:
    """Answers requests as the brain that the model is named after: ``reference``, ``wrong_action:drop``, …

    Args:
        scripts: by epoch, which comes with each request; one alone serves requests without an epoch too.
        wrong_number_every: every so many attempts the caller gives a phone number that it was never told; 0 never.
        retell: changes the words of a reply, for models that write markdown or reason aloud.
    """

    scripts: Mapping[str, Script]
    wrong_number_every: int = 0
    retell: Callable[[ModelReply], ModelReply] = field(default=lambda reply: reply)
    _callers: list[str] = field(default_factory=list)

    def __call__(self, request: ChatRequest) -> ModelReply:
        """Return the reply.

        Raises:
            ConfigError: the model or the attempt is unknown.
        """
        kind, _, mutation = request.model.partition(":")
        payload = self._script(request.epoch).payload(kind)
        if kind in CALLER_MODELS and self._is_inventing(request.epoch):
            payload["facts"] = with_wrong_number(payload["facts"])
        brain = build_brain(kind, payload, {"mutation": mutation} if mutation else {})
        reply = brain.decide(without_bad_calls(request.messages), sorted(request.tools))
        made = sum(len(message.get("tool_calls") or ()) for message in request.messages)
        calls = tuple(
            ModelCall(call.name, json.dumps(call.arguments), f"call_{number}")
            for number, call in enumerate(reply.calls, start=made + 1)
        )
        return self.retell(ModelReply(reply.text, calls))

    def _script(self, epoch: str) -> Script:
        if epoch in self.scripts:
            return self.scripts[epoch]
        if not epoch and len(self.scripts) == 1:
            return next(iter(self.scripts.values()))
        raise ConfigError(f"no script for attempt {epoch or 'without an epoch'}; name its scenario, attempts and seed")

    def _is_inventing(self, epoch: str) -> bool:
        if epoch not in self._callers:
            self._callers.append(epoch)
        return bool(self.wrong_number_every) and (self._callers.index(epoch) + 1) % self.wrong_number_every == 0


def with_wrong_number(facts: Mapping[str, object]) -> dict[str, object]:
    """Return the facts with another phone number: the last digit is one higher.

    Raises:
        ConfigError: the caller knows no phone number.
    """
    number = facts.get(PHONE_NUMBER)
    if not isinstance(number, str) or not number[-1:].isdigit():
        raise ConfigError("the caller of this scenario has no phone number to get wrong")
    return {**facts, PHONE_NUMBER: f"{number[:-1]}{(int(number[-1]) + 1) % 10}"}
