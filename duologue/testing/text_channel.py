"""A whole call without audio: two brains, the same tools, the same databases, the same trace.

``python -m duologue.testing.text_channel --domain NAME`` walks every scenario of a domain and prints how
many an agent passes.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from duologue.brains.brain import Brain, BrainCall, build_brain
from duologue.errors import ScenarioError
from duologue.records.action import ReferenceAction, Side
from duologue.records.event import (
    ActionApplied,
    BotMessage,
    BotReady,
    CallEnded,
    CallStarted,
    ContextPulled,
    DeltaPushed,
    DomainEvent,
    Event,
    ExitRequested,
    FinalState,
    HeardText,
    InitialState,
    Prepared,
    SpokenText,
    StateChecked,
    SummaryPulled,
    ToolCalled,
    ToolReturned,
    TraceHeader,
)
from duologue.records.outcome import OutcomeKind, StopReason
from duologue.records.scenario import CatalogueOptions, Scenario
from duologue.registry import load_domain
from duologue.runner.mutation import MUTATION_KINDS, build_mutants
from duologue.scoring.score import score_trace
from duologue.state.canonical import contract_hash, digest
from duologue.testing.noise import CLEAN, MILD, Noise, garble
from duologue.testing.text_caller import MS_PER_WORD, TextCaller, build_text_caller
from duologue.toolkit.dual_state import DualState
from duologue.toolkit.rules import CATALOGUES, RULES_NAME
from duologue.toolkit.side_host import crash_report
from duologue.trace.reader import Trace

KICK_OFF = "Hello"
MAX_UTTERANCES = 200
MAX_CALLS_IN_A_ROW = 12
_UTC = "2025-02-25T12:08:00Z"


@dataclass(slots=True)
class TextSide:
    """One side of a text call: its brain, its chat messages, its tools."""

    side: Side
    brain: Brain
    prompt: str
    tools: list[str]
    messages: list[dict[str, Any]] = field(default_factory=list)
    calls: int = 0

    def hear(self, text: str) -> None:
        """Add what the other side said."""
        self.messages.append({"role": "user", "content": text})


class TextCall:
    """One conversation between two brains.

    Args:
        scenario: what is played.
        agent: the agent's brain.
        user: the caller's brain.
        noise: what happens to words on the way.
        seed: the seed of the noise.

    Raises:
        ScenarioError: the scenario's line changes sound, of which there is none here.
    """

    def __init__(
        self, scenario: Scenario, agent: Brain, user: Brain, *, noise: Noise = CLEAN, seed: int | str = 0
    ) -> None:
        if not scenario.line.is_clean:
            raise ScenarioError(
                f"{scenario.name}: the line {scenario.line.name!r} changes sound, and the text channel has none; "
                "play it as a call, or leave out its line"
            )
        self.scenario = scenario
        self.epoch = f"text-{seed}"
        self.dual = DualState.for_scenario(scenario, epoch=self.epoch)
        self.parties = {
            side: TextSide(side, brain, scenario.side(side).prompt, sorted(scenario.side(side).resources.tools))
            for side, brain in ((Side.AGENT, agent), (Side.USER, user))
        }
        self._world = deque(scenario.world_events)
        self._noise = noise
        self._chance = random.Random(seed)
        self._events: list[Event] = []
        self._t_ms = 0
        self._caller = user if isinstance(user, TextCaller) else None
        self._kick_off = "" if scenario.caller.opens_call else KICK_OFF

    def run(self) -> Trace:
        """Play the call to its end and return its trace."""
        self._prepare()
        self._add(CallStarted(kick_off=self._kick_off))
        stop = self._converse()
        self._add(CallEnded(stop_reason=stop, media_ms=self._t_ms))
        self._pull()
        header = TraceHeader(run_id="text", epoch=self.epoch, utc_started=_UTC, scenario=self.scenario)
        return Trace(header, tuple(self._events))

    def _add(self, event: Event) -> None:
        self._events.append(event.model_copy(update={"seq": len(self._events) + 1, "t_ms": self._t_ms}))

    def _prepare(self) -> None:
        for party in self.parties.values():
            party.messages.append({"role": "system", "content": party.prompt})
            self._add(BotReady(side=party.side, about={"library": "duologue", "transport": "text"}))
            self._add(
                Prepared(
                    side=party.side,
                    prompt_digest=digest(party.prompt),
                    tools=tuple(party.tools),
                    digest=self.dual.side(party.side).digest(),
                )
            )
        user = self.dual.user
        self._add(
            InitialState.model_validate(
                {
                    "agent_db": self.dual.agent.copy().db,
                    "user_db": user.copy().db if user else None,
                    "agent_memory": self.dual.agent.copy().memory,
                    "user_memory": user.copy().memory if user else {},
                }
            )
        )

    def _converse(self) -> StopReason:
        speaker = self.parties[Side.AGENT if self._kick_off else Side.USER]
        if self._kick_off:
            speaker.hear(self._kick_off)
        silent = 0
        for _ in range(MAX_UTTERANCES):
            said, has_ended = self._take_turn(speaker)
            if has_ended:
                return StopReason.EXIT
            self._happen()
            listener = self.parties[speaker.side.other]
            if said:
                self._deliver(said, listener)
            if self._caller is not None and self._caller.has_hung_up:
                return StopReason.CALLER_DONE
            silent = 0 if said else silent + 1
            if silent > 1:
                return StopReason.TIMEOUT
            speaker = listener
        return StopReason.TIMEOUT

    def _happen(self) -> None:
        """Let the world events that are due happen."""
        while self._world and self._world[0].at_ms <= self._t_ms:
            event = self._world.popleft()
            self.dual.happen(event.kind, event.data)
            self._add(DomainEvent(domain=self.scenario.domain, kind=event.kind, data=event.data))
            self._sync()

    def _take_turn(self, party: TextSide) -> tuple[str, bool]:
        said: list[str] = []
        for _ in range(MAX_CALLS_IN_A_ROW):
            reply = party.brain.decide([dict(message) for message in party.messages], list(party.tools))
            for event in self._caller.take_played() if self._caller is not None and party.side is Side.USER else ():
                self._add(event)
            if reply.text:
                said.append(self._say(party, reply.text))
            endings = [self._use_tool(party, call) for call in reply.calls]
            if any(endings):
                return " ".join(said), True
            if not reply.calls:
                return " ".join(said), False
        raise ScenarioError(f"{self.scenario.name}: the {party.side} brain calls tools without end")

    def _say(self, party: TextSide, text: str) -> str:
        words = text.split()
        if self._noise.cut and len(words) > 3 and self._chance.random() < self._noise.cut:
            text = " ".join(words[: self._chance.randrange(1, len(words) - 1)])
        self._t_ms += MS_PER_WORD * len(text.split())
        party.messages.append({"role": "assistant", "content": text})
        self._add(SpokenText(side=party.side, text=text))
        return text

    def _deliver(self, said: str, listener: TextSide) -> None:
        heard = garble(said, self._noise, self._chance)
        words = heard.split()
        pieces = [heard]
        if self._noise.split and len(words) > 1 and self._chance.random() < self._noise.split:
            place = self._chance.randrange(1, len(words))
            pieces = [" ".join(words[:place]), " ".join(words[place:])]
        for piece in pieces:
            if piece:
                self._add(HeardText(side=listener.side, text=piece))
                listener.hear(piece)

    def _use_tool(self, party: TextSide, call: BrainCall) -> bool:
        party.calls += 1
        call_id = f"{party.side}-{party.calls}"
        self._add(ToolCalled(side=party.side, call_id=call_id, name=call.name, arguments=call.arguments))
        function = {"name": call.name, "arguments": json.dumps(call.arguments)}
        entry = {"id": call_id, "type": "function", "function": function}
        party.messages.append({"role": "assistant", "content": None, "tool_calls": [entry]})
        done = self.dual.host(party.side).perform(call.name, call.arguments)
        if done.crash:
            self._add(BotMessage(side=party.side, kind="bot-error", data=crash_report(done.crash)))
        if done.action is not None:
            self._add(ActionApplied(side=party.side, action=done.action.model_copy(update={"side": party.side})))
            self._sync()
        self._add(ToolReturned(side=party.side, call_id=call_id, name=call.name, result=done.value))
        party.messages.append({"role": "tool", "tool_call_id": call_id, "content": json.dumps(done.value)})
        if done.exit_text:
            self._add(ExitRequested(side=party.side, text=done.exit_text))
        return bool(done.exit_text)

    def _sync(self) -> None:
        deltas = self.dual.sync()
        for side in Side:
            if deltas.side(side):
                self._add(DeltaPushed(side=side, delta=deltas.side(side), request_id="", success=True))
        for side, found in self.dual.digests().items():
            if found is not None:
                self._add(StateChecked(side=side, bot_digest=found, shadow_digest=found, equal=True))

    def _pull(self) -> None:
        for side, party in self.parties.items():
            state = self.dual.side(side).copy()
            actions = tuple(
                action.model_dump(mode="json", exclude_none=True) for action in self.dual.ledgers[side].actions
            )
            self._add(
                SummaryPulled(
                    side=side, actions=actions, db_hash=contract_hash(state.db), digest=state.digest(), db=state.db
                )
            )
            self._add(ContextPulled(side=side, messages=tuple(party.messages)))
        digests = self.dual.digests()
        self._add(
            FinalState(
                agent_db=self.dual.side(Side.AGENT).copy().db,
                user_db=self.dual.side(Side.USER).copy().db,
                agent_digest=digests[Side.AGENT],
                user_digest=digests[Side.USER],
            )
        )


def plan_of(actions: Sequence[ReferenceAction]) -> list[dict[str, Any]]:
    """Return reference actions as the wire's scenario payload words them."""
    return [action.model_dump(mode="json", exclude={"compare_args"}) for action in actions]


def scenario_payload(scenario: Scenario, side: Side) -> dict[str, Any]:
    """Return the payload that a brain of ``side`` is given; the plan only for the agent."""
    payload: dict[str, Any] = {
        "name": scenario.name,
        "domain": scenario.domain,
        "family": scenario.family,
        "profile": scenario.profile,
        "facts": scenario.side(side).facts,
    }
    if side is Side.AGENT:
        payload["plan"] = plan_of(scenario.reference_actions)
    return payload


def run_text_call(
    scenario: Scenario, agent_kind: str, *, mutation: str = "", noise: Noise = CLEAN, seed: int | str = 0
) -> Trace:
    """Play ``scenario`` between the agent ``agent_kind`` and its caller, a scripted one where a bot calls.

    Raises:
        ScenarioError: the scenario is broken, or has no mutant of the kind ``mutation``.
    """
    payload = scenario_payload(scenario, Side.AGENT)
    if mutation:
        payload["mutations"] = {mutation: plan_of(build_mutants(scenario, kinds=(mutation,))[mutation])}
    agent = build_brain(agent_kind, payload, {"mutation": mutation})
    seed = f"{scenario.name}-{seed}"
    user = build_text_caller(scenario, f"text-{seed}") or build_brain(
        "scripted_user", scenario_payload(scenario, Side.USER), {}
    )
    return TextCall(scenario, agent, user, noise=noise, seed=seed).run()


def _parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m duologue.testing.text_channel", description=__doc__)
    parser.add_argument("--domain", required=True)
    parser.add_argument("--agent", default="reference", choices=("reference", "do_nothing", "wrong_action"))
    parser.add_argument("--mutation", default="drop", choices=MUTATION_KINDS)
    parser.add_argument("--profile", default="", help="rule variant of the domain; its default when left out")
    parser.add_argument("--split", default="base")
    parser.add_argument("--noise", action="store_true", help="words arrive as a small speech recognizer hears them")
    parser.add_argument("--seed", type=int, default=0, help="seed of the noise")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; 0 when the agent passes all (reference) or none (every other agent)."""
    options = _parse(sys.argv[1:] if arguments is None else arguments)
    load_domain(options.domain)
    catalogue = CATALOGUES.get(options.domain, RULES_NAME)
    scenarios = catalogue.load(CatalogueOptions(split=options.split, profile=options.profile))
    mutation = options.mutation if options.agent == "wrong_action" else ""
    noise = MILD if options.noise else CLEAN
    counts = dict.fromkeys(OutcomeKind, 0)
    for scenario in scenarios:
        trace = run_text_call(scenario, options.agent, mutation=mutation, noise=noise, seed=options.seed)
        outcome = score_trace(trace, None).outcome
        counts[outcome.kind] += 1
        if (outcome.kind is OutcomeKind.PASSED) != (options.agent == "reference"):
            sys.stdout.write(f"{scenario.name}: {outcome.kind} {outcome.detail}\n")
    label = f"{options.agent} {mutation}".strip()
    sys.stdout.write(f"{label}: {', '.join(f'{count} {kind}' for kind, count in counts.items())}\n")
    expected = OutcomeKind.PASSED if options.agent == "reference" else OutcomeKind.FAILED
    return 0 if counts[expected] == len(scenarios) else 1


if __name__ == "__main__":
    sys.exit(main())
