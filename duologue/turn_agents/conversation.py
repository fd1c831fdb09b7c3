"""A recorded caller against a turn agent: transcribe, ask, write down. Held by ``hold_call``."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field

from duologue.audio.decoding import duration_ms
from duologue.audio.line import Line
from duologue.audio.line_clip import carry_clip
from duologue.clock import Clock
from duologue.errors import ScenarioError
from duologue.records.action import Side
from duologue.records.caller import FrozenUtterance
from duologue.records.event import (
    BotReady,
    CallStarted,
    ContextPulled,
    Event,
    Fault,
    HeardText,
    SpokenText,
    SummaryPulled,
    UtteranceAnswered,
    UtterancePlayed,
)
from duologue.records.outcome import Cause, StopReason
from duologue.records.scenario import Scenario
from duologue.speech.transcriber import Transcriber, transcribe_utterance
from duologue.speech.utterances import Speaker, utterance_audio
from duologue.toolkit.dual_state import DualState
from duologue.toolkit.state_events import final_state, initial_state
from duologue.trace.call_trace import CallTrace
from duologue.turn_agents.loop import Dispatch, TurnLoop, TurnReply
from duologue.turn_agents.manifest import manifest_of
from duologue.turn_agents.turn import MessageTurn, TaskInfo, TurnAgent, agent_for

logger = logging.getLogger(__name__)

_MS_PER_WORD = 350  # about 170 words a minute, an even pace of speech
_SILENCE_MS = 4000
"""Nominal media time: how long a word of a reply takes, and how long a missing reply is waited for."""


@dataclass(frozen=True, slots=True)
class TurnSetup:
    """What answers, and how.

    Args:
        agent: the turn agent; ``agent_name`` is what reports call it.
        transcriber: hears the caller.
        dispatch: see :class:`Dispatch`.
        speak: makes the sound of utterances that are given as text.
        sends_prompt: whether the history begins with the scenario's prompt as a system turn; by default it does not.
        turn_timeout_s: how long the agent may take for one turn.
    """

    agent: TurnAgent
    agent_name: str
    transcriber: Transcriber
    dispatch: Dispatch = Dispatch.LOOP
    speak: Speaker | None = None
    sends_prompt: bool = False
    turn_timeout_s: float = 600.0


@dataclass(slots=True)
class TurnConversation:
    """One conversation; every step becomes an event at once.

    Args:
        scenario: has a recorded caller.
        task: names the attempt towards the agent.
        setup: what answers.
        trace: what is written; its header holds the epoch.
        clock: measures recognition and agent.

    Raises:
        ScenarioError: the scenario has no recorded caller.
    """

    scenario: Scenario
    task: TaskInfo
    setup: TurnSetup
    trace: CallTrace
    clock: Clock
    _dual: DualState = field(init=False)
    _loop: TurnLoop = field(init=False)
    _line: Line = field(init=False)

    def __post_init__(self) -> None:
        caller = self.scenario.caller
        if not caller.is_fixed:
            raise ScenarioError(
                f"{self.scenario.name}: its caller is {caller.what}; a turn agent can only be tested with recorded "
                "utterances: test the agent as a bot, or give the scenario a recorded caller"
            )
        if self.scenario.world_events:
            raise ScenarioError(
                f"{self.scenario.name}: its world events need the media time of a call; test it with an agent bot"
            )
        self._line = Line(self.scenario.line, self.trace.header.epoch)
        agent = agent_for(self.setup.agent, self.task)
        manifest = manifest_of(self.scenario)
        self._loop = TurnLoop(
            agent, manifest, self.clock, self.trace.write, self.setup.dispatch, self.setup.turn_timeout_s
        )
        if self.setup.sends_prompt:
            self._loop.history.append(MessageTurn("system", self.scenario.agent.prompt))

    async def talk(self) -> StopReason:
        """Play every utterance, in order. A recognizer or an agent that fails ends it with a fault.

        Raises:
            InitializationFailed: the scenario's initial state cannot be built.
        """
        self._dual = DualState.for_scenario(self.scenario, epoch=self.trace.header.epoch)
        self._begin()
        for index, utterance in enumerate(self.scenario.caller.utterances):
            if not await self._exchange(index, utterance):
                return StopReason.FAULT
        return StopReason.CALLER_DONE

    async def part(self) -> None:
        """Write down what the agent was told."""
        if self.trace.has_started:
            self.trace.write(SummaryPulled(side=Side.AGENT))
            self.trace.write(ContextPulled(side=Side.AGENT, messages=self._loop.messages()))

    def close(self) -> Iterable[Event]:
        """Yield the state at the end, which is that of the beginning: no tool of a turn agent changes it."""
        if self.trace.is_prepared:
            yield final_state(self._dual)

    async def _exchange(self, index: int, utterance: FrozenUtterance) -> bool:
        """Play one utterance; False when it failed."""
        cause, started = Cause.HARNESS, self.clock.monotonic()
        try:
            said = utterance_audio(utterance, self.setup.speak)
            audio = carry_clip(self._line.to_agent, said) if said else said
            length_ms = duration_ms(audio) if audio else 0
            self.trace.write(UtterancePlayed(index=index, duration_ms=length_ms))
            self._pass(length_ms)
            text = await transcribe_utterance(self.setup.transcriber, audio, utterance.language)
            recognition_ms = round((self.clock.monotonic() - started) * 1000)
            self._hear(utterance, text)
            cause = Cause.TRANSPORT
            reply = await self._loop.answer(text, audio)
        except Exception as error:
            logger.exception("the utterance was not answered", extra={"index": index})
            self.trace.write(Fault(cause=cause, side=Side.AGENT, error=type(error).__name__, message=str(error)))
            return False
        self._answered(index, reply, recognition_ms)
        return True

    def _hear(self, utterance: FrozenUtterance, text: str) -> None:
        if utterance.transcript:
            self.trace.write(SpokenText(side=Side.USER, text=utterance.transcript))
        self.trace.write(HeardText(side=Side.AGENT, text=text))

    def _answered(self, index: int, reply: TurnReply, recognition_ms: int) -> None:
        if reply.text:
            self.trace.write(SpokenText(side=Side.AGENT, text=reply.text))
        self.trace.write(
            UtteranceAnswered(
                index=index,
                text=reply.text,
                tool_turns=reply.tool_turns,
                recognition_ms=recognition_ms,
                agent_ms=reply.wall_ms,
                cost_usd=reply.cost_usd,
            )
        )
        self._pass(_MS_PER_WORD * len(reply.text.split()) if reply.text else _SILENCE_MS)

    def _begin(self) -> None:
        about = {
            "library": "duologue",
            "transport": "turns",
            "brain": self.setup.agent_name,
            "stt": self.setup.transcriber.name,
            "dispatch": self.setup.dispatch.value,
        }
        self.trace.write(BotReady(side=Side.AGENT, about=about))
        self.trace.write(initial_state(self._dual))
        self.trace.write(CallStarted())

    def _pass(self, duration_ms: int) -> None:
        self.trace.move_to(self.trace.media_ms + duration_ms)
