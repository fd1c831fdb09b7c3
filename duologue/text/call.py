"""One call without sound. Held by ``hold_call``; ``play_text_call`` does that in memory."""

from __future__ import annotations

import json
import random
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from duologue.brains.brain import Brain, BrainCall
from duologue.errors import ScenarioError
from duologue.records.action import Side
from duologue.records.event import (
    ActionApplied,
    BotMessage,
    BotReady,
    CallStarted,
    ContextPulled,
    DeltaPushed,
    DomainEvent,
    Event,
    ExitRequested,
    HeardText,
    Prepared,
    SpokenText,
    StateChecked,
    ToolCalled,
    ToolReturned,
    TraceHeader,
)
from duologue.records.outcome import StopReason
from duologue.records.scenario import Scenario
from duologue.state.canonical import digest
from duologue.text.caller import MS_PER_WORD, TextCaller
from duologue.text.noise import CLEAN, Noise, garble
from duologue.toolkit.dual_state import DualState
from duologue.toolkit.resources import Clones
from duologue.toolkit.side_host import Performed, crash_report
from duologue.toolkit.state_events import final_state, initial_state, own_summary
from duologue.trace.call_trace import CallTrace
from duologue.trace.held_call import hold_call
from duologue.trace.reader import Trace
from duologue.trace.writer import TraceMemory

KICK_OFF = "Hello"
MAX_UTTERANCES = 200
"""Far more than any call needs; two brains that never part end here."""

MAX_CALLS_IN_A_ROW = 12
"""How often a brain may answer one turn with tool calls: once for each action of the longest reference solution."""

_UTC = "2025-02-25T12:08:00Z"
"""When a call in memory began; it has no wall time."""


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


def check_line(scenario: Scenario) -> None:
    """Refuse a scenario that no call without sound can play.

    Raises:
        ScenarioError: its line changes sound.
    """
    if not scenario.line.is_clean:
        raise ScenarioError(
            f"{scenario.name}: the line {scenario.line.name!r} changes sound, and a call in text has none; "
            "play it as a spoken call, or leave out its line"
        )


class TextCall:
    """One conversation between two brains. Its time is that of words spoken at an even pace.

    Args:
        scenario: what is played.
        trace: what is written; its header holds the epoch.
        agent: the agent's brain.
        user: the caller's brain.
        noise: what happens to words on the way.
        seed: the seed of the noise.
        clones: what the attempt has of the domain's resources; who made them closes them.

    Raises:
        ScenarioError: the scenario's line changes sound, of which there is none here.
    """

    def __init__(
        self,
        scenario: Scenario,
        trace: CallTrace,
        agent: Brain,
        user: Brain,
        *,
        noise: Noise = CLEAN,
        seed: int | str = 0,
        clones: Clones | None = None,
    ) -> None:
        check_line(scenario)
        self.scenario = scenario
        self._clones = clones or Clones()
        self.dual = DualState.for_scenario(scenario, epoch=trace.header.epoch)
        self.parties = {
            side: TextSide(side, brain, scenario.side(side).prompt, sorted(scenario.side(side).resources.tools))
            for side, brain in ((Side.AGENT, agent), (Side.USER, user))
        }
        self._trace = trace
        self._world = deque(scenario.world_events)
        self._noise = noise
        self._chance = random.Random(seed)
        self._caller = user if isinstance(user, TextCaller) else None
        self._kick_off = "" if scenario.caller.opens_call else KICK_OFF

    async def talk(self) -> StopReason:
        """Let the two converse until one ends the call, or neither has anything to say; return why it is over.

        Raises:
            ScenarioError: a brain calls tools without end.
            ResourceFailed: a resource of the domain died.
        """
        await self._prepare()
        self._trace.write(CallStarted(kick_off=self._kick_off))
        return await self._converse()

    async def part(self) -> None:
        """Write down what each side did, what it was told, and what the clones hold.

        Raises:
            ResourceFailed: a clone that was in order until now is not.
        """
        if not self._trace.has_started:
            return
        for side, party in self.parties.items():
            self._trace.write(own_summary(self.dual, side, self.dual.ledgers[side].actions))
            self._trace.write(ContextPulled(side=side, messages=tuple(party.messages)))
        if self._clones.failure is None:
            await self._write_clones("final")

    def close(self) -> Iterable[Event]:
        """Yield both states as they stand."""
        if self._trace.is_prepared:
            yield final_state(self.dual)

    async def _prepare(self) -> None:
        for party in self.parties.values():
            party.messages.append({"role": "system", "content": party.prompt})
            self._trace.write(BotReady(side=party.side, about={"library": "duologue", "transport": "text"}))
            self._trace.write(
                Prepared(
                    side=party.side,
                    prompt_digest=digest(party.prompt),
                    tools=tuple(party.tools),
                    digest=self.dual.side(party.side).digest(),
                )
            )
        self._trace.write(initial_state(self.dual))
        await self._write_clones("initial")

    async def _write_clones(self, moment: Literal["initial", "final"]) -> None:
        for snapshot in await self._clones.snapshots(moment):
            self._trace.write(snapshot)

    async def _converse(self) -> StopReason:
        speaker = self.parties[Side.AGENT if self._kick_off else Side.USER]
        if self._kick_off:
            speaker.hear(self._kick_off)
        silent = 0
        for _ in range(MAX_UTTERANCES):
            said, has_ended = await self._take_turn(speaker)
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
        while self._world and self._world[0].at_ms <= self._trace.media_ms:
            event = self._world.popleft()
            self.dual.happen(event.kind, event.data)
            self._trace.write(DomainEvent(domain=self.scenario.domain, kind=event.kind, data=event.data))
            self._sync()

    async def _take_turn(self, party: TextSide) -> tuple[str, bool]:
        said: list[str] = []
        for _ in range(MAX_CALLS_IN_A_ROW):
            reply = party.brain.decide([dict(message) for message in party.messages], list(party.tools))
            for event in self._caller.take_played() if self._caller is not None and party.side is Side.USER else ():
                self._trace.write(event)
            if reply.text:
                said.append(self._say(party, reply.text))
            endings = [await self._use_tool(party, call) for call in reply.calls]
            if any(endings):
                return " ".join(said), True
            if not reply.calls:
                return " ".join(said), False
        raise ScenarioError(f"{self.scenario.name}: the {party.side} brain calls tools without end")

    def _say(self, party: TextSide, text: str) -> str:
        words = text.split()
        if self._noise.cut and len(words) > 3 and self._chance.random() < self._noise.cut:
            text = " ".join(words[: self._chance.randrange(1, len(words) - 1)])
        self._trace.move_to(self._trace.media_ms + MS_PER_WORD * len(text.split()))
        party.messages.append({"role": "assistant", "content": text})
        self._trace.write(SpokenText(side=party.side, text=text))
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
                self._trace.write(HeardText(side=listener.side, text=piece))
                listener.hear(piece)

    async def _use_tool(self, party: TextSide, call: BrainCall) -> bool:
        party.calls += 1
        call_id = f"{party.side}-{party.calls}"
        self._trace.write(ToolCalled(side=party.side, call_id=call_id, name=call.name, arguments=call.arguments))
        function = {"name": call.name, "arguments": json.dumps(call.arguments)}
        entry = {"id": call_id, "type": "function", "function": function}
        party.messages.append({"role": "assistant", "content": None, "tool_calls": [entry]})
        done = await self._perform(party.side, call)
        if done.crash:
            self._trace.write(BotMessage(side=party.side, kind="bot-error", data=crash_report(done.crash)))
        if done.action is not None:
            self._trace.write(
                ActionApplied(side=party.side, action=done.action.model_copy(update={"side": party.side}))
            )
            self._sync()
        self._trace.write(ToolReturned(side=party.side, call_id=call_id, name=call.name, result=done.value))
        party.messages.append({"role": "tool", "tool_call_id": call_id, "content": json.dumps(done.value)})
        if done.exit_text:
            self._trace.write(ExitRequested(side=party.side, text=done.exit_text))
        return bool(done.exit_text)

    async def _perform(self, side: Side, call: BrainCall) -> Performed:
        """Run a tool: the one place where a call without sound waits."""
        return await self.dual.host(side).perform_async(call.name, call.arguments, self._clones)

    def _sync(self) -> None:
        deltas = self.dual.sync()
        for side in Side:
            if deltas.side(side):
                self._trace.write(DeltaPushed(side=side, delta=deltas.side(side), request_id="", success=True))
        for side, found in self.dual.digests().items():
            if found is not None:
                self._trace.write(StateChecked(side=side, bot_digest=found, shadow_digest=found, equal=True))


async def play_text_call(
    scenario: Scenario,
    agent: Brain,
    user: Brain,
    *,
    noise: Noise = CLEAN,
    seed: int | str = 0,
    clones: Clones | None = None,
) -> Trace:
    """Play one call in memory and return its trace; equal arguments give equal traces.

    Raises:
        InitializationFailed: the scenario's initial state cannot be built.
    """
    memory = TraceMemory(TraceHeader(run_id="text", epoch=f"text-{seed}", utc_started=_UTC, scenario=scenario))
    trace = CallTrace(memory)
    call = TextCall(scenario, trace, agent, user, noise=noise, seed=seed, clones=clones)
    await hold_call(call, trace)
    return memory.trace()
