"""One attempt at a scenario with a recorded caller against a turn agent: transcribe, loop, trace.

Folder, scoring and files are those of any attempt; only the conversation is another one.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from duologue.audio.decoding import duration_ms
from duologue.clock import Clock
from duologue.errors import ScenarioError
from duologue.records.action import Side
from duologue.records.caller import FrozenUtterance
from duologue.records.event import (
    BotReady,
    CallEnded,
    CallStarted,
    ContextPulled,
    Event,
    Fault,
    FinalState,
    HeardText,
    InitialState,
    SpokenText,
    SummaryPulled,
    TraceHeader,
    UtteranceAnswered,
    UtterancePlayed,
)
from duologue.records.outcome import Cause, StopReason
from duologue.records.scenario import Scenario
from duologue.runner.attempt import Attempt, AttemptRunner, _AttemptLog
from duologue.speech.transcriber import Transcriber, transcribe_utterance
from duologue.speech.utterances import Speaker, utterance_audio
from duologue.toolkit.dual_state import DualState
from duologue.trace.writer import TraceWriter
from duologue.turn_agents.loop import Dispatch, TurnLoop, TurnReply
from duologue.turn_agents.manifest import manifest_of
from duologue.turn_agents.turn import MessageTurn, TaskInfo, TurnAgent, agent_for

logger = logging.getLogger(__name__)

_MS_PER_WORD = 350
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
    """The conversation of one attempt; every step becomes an event at once.

    Args:
        scenario: has a recorded caller.
        task: names the attempt towards the agent.
        setup: what answers.
        writer: the attempt's trace.
        clock: measures recognition and agent.
        on_event: is told about every event.

    Raises:
        ScenarioError: the scenario has no recorded caller.
    """

    scenario: Scenario
    task: TaskInfo
    setup: TurnSetup
    writer: TraceWriter
    clock: Clock
    on_event: Callable[[Event], None]
    _media_ms: int = 0
    _loop: TurnLoop = field(init=False)

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
        agent = agent_for(self.setup.agent, self.task)
        manifest = manifest_of(self.scenario)
        self._loop = TurnLoop(agent, manifest, self.clock, self._add, self.setup.dispatch, self.setup.turn_timeout_s)

        if self.setup.sends_prompt:
            self._loop.history.append(MessageTurn("system", self.scenario.agent.prompt))

    async def run(self) -> None:
        """Play every utterance, in order. A recognizer or an agent that fails ends the conversation with a fault."""
        started = self.clock.monotonic()
        dual = DualState.for_scenario(self.scenario, epoch=self.writer.header.epoch)
        self._begin(dual)
        stop = StopReason.CALLER_DONE
        for index, utterance in enumerate(self.scenario.caller.utterances):
            if not await self._exchange(index, utterance):
                stop = StopReason.FAULT
                break
        wall_ms = round((self.clock.monotonic() - started) * 1000)
        self._add(CallEnded(stop_reason=stop, media_ms=self._media_ms, wall_ms=wall_ms))
        self._finish(dual)

    async def _exchange(self, index: int, utterance: FrozenUtterance) -> bool:
        """Play one utterance; False when it failed."""
        cause, started = Cause.HARNESS, self.clock.monotonic()
        try:
            audio = utterance_audio(utterance, self.setup.speak)
            length_ms = duration_ms(audio) if audio else 0
            self._add(UtterancePlayed(index=index, duration_ms=length_ms))
            self._media_ms += length_ms
            text = await transcribe_utterance(self.setup.transcriber, audio, utterance.language)
            recognition_ms = round((self.clock.monotonic() - started) * 1000)
            self._hear(utterance, text)
            cause = Cause.TRANSPORT
            reply = await self._loop.answer(text, audio)
        except Exception as error:
            logger.exception("the utterance was not answered", extra={"index": index})
            self._add(Fault(cause=cause, side=Side.AGENT, error=type(error).__name__, message=str(error)))
            return False
        self._answered(index, reply, recognition_ms)
        return True

    def _hear(self, utterance: FrozenUtterance, text: str) -> None:
        if utterance.transcript:
            self._add(SpokenText(side=Side.USER, text=utterance.transcript))
        self._add(HeardText(side=Side.AGENT, text=text))

    def _answered(self, index: int, reply: TurnReply, recognition_ms: int) -> None:
        if reply.text:
            self._add(SpokenText(side=Side.AGENT, text=reply.text))
        self._add(
            UtteranceAnswered(
                index=index,
                text=reply.text,
                tool_turns=reply.tool_turns,
                recognition_ms=recognition_ms,
                agent_ms=reply.wall_ms,
                cost_usd=reply.cost_usd,
            )
        )
        self._media_ms += _MS_PER_WORD * len(reply.text.split()) if reply.text else _SILENCE_MS

    def _begin(self, dual: DualState) -> None:
        about = {
            "library": "duologue",
            "transport": "turns",
            "brain": self.setup.agent_name,
            "stt": self.setup.transcriber.name,
            "dispatch": self.setup.dispatch.value,
        }
        self._add(BotReady(side=Side.AGENT, about=about))
        agent, user = dual.agent.copy(), dual.user.copy() if dual.user else None
        self._add(
            InitialState(
                agent_db=agent.db,
                user_db=user.db if user else None,
                agent_memory=agent.memory,
                user_memory=user.memory if user else {},
            )
        )
        self._add(CallStarted())

    def _finish(self, dual: DualState) -> None:
        self._add(SummaryPulled(side=Side.AGENT))
        self._add(ContextPulled(side=Side.AGENT, messages=self._loop.messages()))
        digests = dual.digests()
        self._add(
            FinalState(
                agent_db=copy.deepcopy(dual.agent.db),
                user_db=copy.deepcopy(dual.user.db) if dual.user else None,
                agent_digest=digests[Side.AGENT],
                user_digest=digests[Side.USER],
            )
        )

    def _add(self, event: Event) -> None:
        self.on_event(self.writer.append(event, t_ms=self._media_ms))


@dataclass(slots=True, kw_only=True)
class TurnAttemptRunner(AttemptRunner):
    """Runs attempts against a turn agent, one after the other.

    Args:
        setup: what answers.
    """

    setup: TurnSetup

    async def _call(self, attempt: Attempt, log: _AttemptLog) -> None:
        scenario = attempt.scenario
        session = f"{attempt.run_id}-{attempt.epoch}"
        task = TaskInfo(scenario.domain, scenario.task_id, session, attempt.number)
        await TurnConversation(scenario, task, self.setup, log.writer, self.clock, log.saw).run()

    def _header(self, attempt: Attempt) -> TraceHeader:
        header = AttemptRunner._header(self, attempt)
        own = {
            "adapter": self.setup.agent_name,
            "stt": self.setup.transcriber.name,
            "dispatch": self.setup.dispatch.value,
            "sends_prompt": self.setup.sends_prompt,
            "min_agent_turns": 0,
        }
        return header.model_copy(update={"settings": {**header.settings, **own}})
