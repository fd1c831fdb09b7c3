"""The events of a trace.

A trace is one header line and then events in order. Every event has ``seq`` (from 1), ``t_ms`` (media
time of the call in milliseconds, a whole number; negative times do not occur: everything before the
first grant is at 0) and usually a ``side``. Wall time appears only in the header and in ``call_ended``.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import ConfigDict, Field, JsonValue, SerializerFunctionWrapHandler, TypeAdapter, model_serializer

from duologue.records.action import Delta, RecordedAction, Side
from duologue.records.outcome import Cause, StopReason
from duologue.records.record import Record
from duologue.records.scenario import Scenario

__all__ = [
    "ActionApplied", "BotMessage", "BotReady", "BotSpeaking", "CallEnded", "CallStarted", "ContextPulled",
    "DeltaPushed", "DomainEvent", "Event", "ExitRequested", "Fault", "FinalState", "HeardText", "InitialState",
    "Interrupted", "LoopTimed", "OpenEvent", "Prepared", "ProtocolNote", "RecordingWritten", "ResourceSnapshot",
    "SpokenText", "StateChecked", "SummaryPulled", "TokensUsed", "ToolCalled", "ToolReturned", "TraceHeader",
    "UserTurn", "UtteranceAnswered", "UtterancePlayed",
]  # fmt: skip

TRACE_SCHEMA = 1  # goes up when a reader of this version could misread a trace


class TraceHeader(Record):
    """The first line of a trace: everything needed to read and rescore it alone."""

    event: Literal["header"] = "header"
    schema_version: int = TRACE_SCHEMA
    run_id: str
    attempt: int = 1
    seed: int = 0
    epoch: str
    utc_started: str
    scenario: Scenario
    settings: dict[str, Any] = Field(default_factory=dict)
    provenance: dict[str, object] = Field(default_factory=dict)
    compat: tuple[str, ...] = ()


class EventBase(Record):
    """What every event carries."""

    seq: int = 0
    t_ms: int = 0


class BotReady(EventBase):
    """A bot answered the handshake; ``about`` is what it says of itself."""

    event: Literal["bot_ready"] = "bot_ready"
    side: Side
    version: str = ""
    about: dict[str, Any] = Field(default_factory=dict)


class Prepared(EventBase):
    """A side was put into its initial state and read back."""

    event: Literal["prepared"] = "prepared"
    side: Side
    prompt_digest: str
    tools: tuple[str, ...]
    digest: str | None
    self_reported: bool = True


class InitialState(EventBase):
    """Both shadow databases after initialization and the first sync."""

    event: Literal["initial_state"] = "initial_state"
    agent_db: dict[str, object] | None
    user_db: dict[str, object] | None
    agent_memory: dict[str, object] = Field(default_factory=dict)
    user_memory: dict[str, object] = Field(default_factory=dict)


class CallStarted(EventBase):
    """The first grant; media time 0 of the recording. ``kick_off`` is the text that made the agent speak."""

    event: Literal["call_started"] = "call_started"
    kick_off: str = ""


class BotSpeaking(EventBase):
    """A bot says that it started or stopped speaking."""

    event: Literal["bot_speaking"] = "bot_speaking"
    side: Side
    speaking: bool


class SpokenText(EventBase):
    """Words that a bot says are being played (a word or a sentence), with their spaces."""

    event: Literal["spoken_text"] = "spoken_text"
    side: Side
    text: str


class UtterancePlayed(EventBase):
    """A caller that is no bot starts to say something (``index`` from 0); its words are in the scenario.

    ``heard`` text, answers and tool calls up to the next one belong to this user turn. ``clip`` is the name of what a
    machine plays; recorded utterances have none, and store none.
    """

    event: Literal["utterance_played"] = "utterance_played"
    side: Side = Side.USER
    index: int
    duration_ms: int = 0
    clip: str = ""

    @model_serializer(mode="wrap")
    def _without_clip(self, handler: SerializerFunctionWrapHandler) -> dict[str, object]:
        data: dict[str, Any] = handler(self)
        return {key: value for key, value in data.items() if key != "clip" or value}


class UtteranceAnswered(EventBase):
    """A turn agent is done with an utterance of a frozen caller (``index`` from 0).

    ``text`` is its reply, None when it was still calling tools at the cap; ``tool_turns`` counts its turns with
    calls. Recognition and agent are real time and not reproducible; ``cost_usd`` is what the agent reported.
    """

    event: Literal["utterance_answered"] = "utterance_answered"
    side: Side = Side.AGENT
    index: int
    text: str | None
    tool_turns: int = 0
    recognition_ms: int = 0
    agent_ms: int = 0
    cost_usd: float | None = None


class HeardText(EventBase):
    """What a bot's STT understood of the other side."""

    event: Literal["heard_text"] = "heard_text"
    side: Side
    text: str
    final: bool = True


class UserTurn(EventBase):
    """A bot's turn detection says that the other side started or stopped its turn."""

    event: Literal["user_turn"] = "user_turn"
    side: Side
    speaking: bool


class Interrupted(EventBase):
    """A bot was interrupted and dropped what it had not yet played."""

    event: Literal["interrupted"] = "interrupted"
    side: Side


class ToolCalled(EventBase):
    """A bot's brain called a tool."""

    event: Literal["tool_called"] = "tool_called"
    side: Side
    call_id: str
    name: str
    arguments: dict[str, object] = Field(default_factory=dict)


class ToolReturned(EventBase):
    """The result of a tool call was given to the brain."""

    event: Literal["tool_returned"] = "tool_returned"
    side: Side
    call_id: str
    name: str
    result: Any = None
    cancelled: bool = False


class ActionApplied(EventBase):
    """A bot reported a write (``action-applied``). ``accepted`` is False for repeats, gaps and other epochs."""

    event: Literal["action_applied"] = "action_applied"
    side: Side
    action: RecordedAction
    accepted: bool = True
    problem: str = ""


class DeltaPushed(EventBase):
    """A sync delta was sent to a side and acknowledged, refused, or lost."""

    event: Literal["delta_pushed"] = "delta_pushed"
    side: Side
    delta: Delta
    request_id: str
    success: bool
    errors: tuple[str, ...] = ()
    latency_ms: int = 0


class DomainEvent(EventBase):
    """Something happened in a domain's world at this time, by the rule ``kind``; readers show what they do not know."""

    event: Literal["domain_event"] = "domain_event"
    domain: str
    kind: str
    data: dict[str, object] = Field(default_factory=dict)


class ResourceSnapshot(EventBase):
    """What the attempt's clone of a resource held before the call (``initial``) or after it (``final``).

    ``digest`` is the clone's own mark of it, by default that of the data.
    """

    event: Literal["resource_snapshot"] = "resource_snapshot"
    name: str
    moment: Literal["initial", "final"] = "initial"
    digest: str
    data: JsonValue


class StateChecked(EventBase):
    """A bot's digest was compared with its shadow's. ``repaired``: a full state push made them equal."""

    event: Literal["state_checked"] = "state_checked"
    side: Side
    bot_digest: str | None
    shadow_digest: str
    equal: bool
    repaired: bool = False


class TokensUsed(EventBase):
    """One LLM call of a bot."""

    event: Literal["tokens_used"] = "tokens_used"
    side: Side
    prompt: int = 0
    completion: int = 0


class ExitRequested(EventBase):
    """A bot said that the call is over; honoured once its last words were played."""

    event: Literal["exit_requested"] = "exit_requested"
    side: Side
    text: str


class BotMessage(EventBase):
    """A pushed message that no other event covers (``final_response``, ``error``…)."""

    event: Literal["bot_message"] = "bot_message"
    side: Side
    kind: str
    data: Any = None


class Fault(EventBase):
    """Something other than the agent's behaviour went wrong. A fatal fault ends the attempt."""

    event: Literal["fault"] = "fault"
    cause: Cause
    side: Side | None = None
    error: str
    message: str
    fatal: bool = True


class ProtocolNote(EventBase):
    """A message that was dropped (late, repeated, unknown id, other epoch) and why."""

    event: Literal["protocol_note"] = "protocol_note"
    side: Side
    note: str


class LoopTimed(EventBase):
    """How well a call in real time was kept: times are wall time and not reproducible.

    ``late_ticks``: frames that left later than the bots' jitter buffer allows. ``gaps``: how often the sound of a
    bot came too late, within its speech.
    """

    event: Literal["loop_timed"] = "loop_timed"
    ticks: int
    late_ticks: int
    max_lag_ms: int
    gaps: dict[Side, int] = Field(default_factory=dict)


class CallEnded(EventBase):
    """The last grant. ``wall_ms`` is real time from prepare to here; not reproducible."""

    event: Literal["call_ended"] = "call_ended"
    stop_reason: StopReason
    media_ms: int
    wall_ms: int = 0


class SummaryPulled(EventBase):
    """A side's answer to ``get_scenario_summary`` after the call."""

    event: Literal["summary_pulled"] = "summary_pulled"
    side: Side
    actions: tuple[dict[str, object], ...] = ()
    db_hash: str | None = None
    digest: str | None = None
    db: dict[str, object] | None = None


class ContextPulled(EventBase):
    """A side's LLM context after the call."""

    event: Literal["context_pulled"] = "context_pulled"
    side: Side
    messages: tuple[Any, ...] = ()


class FinalState(EventBase):
    """Both shadow databases at the end of the call."""

    event: Literal["final_state"] = "final_state"
    agent_db: dict[str, Any] | None
    user_db: dict[str, Any] | None
    agent_digest: str | None
    user_digest: str | None


class RecordingWritten(EventBase):
    """The stereo recording: left is what the agent heard, right is what the user heard.

    A line that is not clean leaves a second one of the same length, ``said_path``, of what was said to them.
    """

    event: Literal["recording_written"] = "recording_written"
    path: str
    sha256: str
    sample_rate_hz: int
    samples: int
    said_path: str = ""
    said_sha256: str = ""

    @model_serializer(mode="wrap")
    def _without_said(self, handler: SerializerFunctionWrapHandler) -> dict[str, object]:
        data: dict[str, Any] = handler(self)
        return {key: value for key, value in data.items() if value or key not in ("said_path", "said_sha256")}


class OpenEvent(EventBase):
    """An event of a kind that this version does not know, kept as it was written; it decides nothing."""

    model_config = ConfigDict(extra="allow")

    event: str
    seq: int
    t_ms: int

    @property
    def fields(self) -> dict[str, JsonValue]:
        """What it holds beside its kind, its number and its time."""
        return dict(self.model_extra or {})


KnownEvent = Annotated[
    BotReady | Prepared | InitialState | CallStarted | BotSpeaking | SpokenText | UtterancePlayed | UtteranceAnswered
    | HeardText | UserTurn | Interrupted | ToolCalled | ToolReturned | ActionApplied | DeltaPushed | DomainEvent |
    ResourceSnapshot | StateChecked | TokensUsed | ExitRequested | BotMessage | Fault | ProtocolNote | LoopTimed |
    CallEnded | SummaryPulled | ContextPulled | FinalState | RecordingWritten,
    Field(discriminator="event"),
]  # fmt: skip

Event = KnownEvent | OpenEvent

EVENT_ADAPTER: TypeAdapter[KnownEvent] = TypeAdapter(KnownEvent)

EVENT_KINDS = frozenset(
    {kind.model_fields["event"].default for kind in (TraceHeader, *get_args(get_args(KnownEvent)[0]))}
)
"""What ``event`` can be in a line that has to fit its class; any other kind is an :class:`OpenEvent`."""
