"""When a call may end: exit is honoured after the agent's last words were played. Pure.

A bot's exit message overtakes its queued sound, so the bridge goes on granting time until the agent has
nothing under way (model, speech synthesis, speech, tools) and its sound was quiet for half a second. What a bot has
under way is told from what it says, not from what is heard: noise on the line is nobody's. The delay of the line is
waited for on top.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from duologue.protocol.messages import InterruptionMark, RtviMessage
from duologue.protocol.requests import StrayAnswer
from duologue.records.outcome import StopReason

QUIET_MS = 500  # longer than the pause that voices make between two sentences
QUIET_BELOW_DBFS = -55.0  # above the noise of a codec, below a whisper


@dataclass(slots=True)
class BotActivity:
    """What one bot has under way, from its own messages and its sound."""

    is_speaking: bool = False
    is_thinking: bool = False
    is_voicing: bool = False
    open_tools: set[str] = field(default_factory=set)
    quiet_ms: int = 0
    is_audible: bool = False
    has_unplayed: bool = False

    def observe(self, item: RtviMessage | InterruptionMark | StrayAnswer) -> None:
        """Take one message into account."""
        if isinstance(item, InterruptionMark):
            self._cut()
        elif isinstance(item, RtviMessage):
            self._observe(item)

    def hear(self, level_dbfs: float, duration_ms: int) -> None:
        """Take the level of one tick of the bot's sound into account."""
        self.is_audible = level_dbfs >= QUIET_BELOW_DBFS
        self.quiet_ms = 0 if self.is_audible else self.quiet_ms + duration_ms

    @property
    def is_busy(self) -> bool:
        """Whether there is anything that an interruption would cut off."""
        return self.is_speaking or self.is_thinking or self.is_voicing or self.is_audible

    @property
    def is_done(self) -> bool:
        """Whether nothing is under way and the sound has been quiet for long enough."""
        return not self.has_plans and self.quiet_ms >= QUIET_MS

    @property
    def has_plans(self) -> bool:
        """Whether words or tool calls are under way, whatever can be heard."""
        busy = self.is_speaking or self.is_thinking or self.is_voicing or self.has_unplayed
        return busy or bool(self.open_tools)

    def _observe(self, message: RtviMessage) -> None:
        data = message.data if isinstance(message.data, dict) else {}
        match message.type:
            case "bot-started-speaking":
                self.is_speaking = True
            case "bot-stopped-speaking":
                self.is_speaking = False
            case "bot-llm-started":
                self.is_thinking = True
            case "bot-llm-stopped":
                self.is_thinking = False
            case "bot-tts-started":
                self.is_voicing = True
            case "bot-tts-stopped":
                self.is_voicing = False
            case "llm-function-call-in-progress":
                self.open_tools.add(str(data.get("tool_call_id", "")))
            case "llm-function-call-stopped":
                self.open_tools.discard(str(data.get("tool_call_id", "")))
            case "bot-interrupted":
                self._cut()

    def _cut(self) -> None:
        self.is_speaking = self.is_thinking = self.is_voicing = False


@dataclass(slots=True)
class CallEnd:
    """Decides after each tick whether the call is over. All times are media time in milliseconds.

    ``to_user_ms`` and ``to_agent_ms`` are how long the sound of the agent, and that of the user, is under way.
    """

    max_ms: int
    exit_grace_ms: int
    drain_ms: int
    to_user_ms: int = 0
    to_agent_ms: int = 0
    exit_at_ms: int | None = None
    left_at_ms: int | None = None
    _silent_since_ms: int = 0

    def request_exit(self, t_ms: int) -> None:
        """The agent said that the call is over; the first time counts."""
        if self.exit_at_ms is None:
            self.exit_at_ms = t_ms

    def caller_left(self, t_ms: int) -> None:
        """The caller has hung up; once its last words were played the agent may still do so for ``drain_ms``.

        The first time counts.
        """
        if self.left_at_ms is None:
            self.left_at_ms = self._silent_since_ms = t_ms

    def decide(self, t_ms: int, agent: BotActivity, user: BotActivity) -> StopReason | None:
        """Return why the call ends now, or None while it goes on."""
        has_open_tools = bool(agent.open_tools or user.open_tools)
        if self.exit_at_ms is not None:
            waited = t_ms - self.exit_at_ms
            has_arrived = agent.quiet_ms >= QUIET_MS + self.to_user_ms
            is_played = waited >= QUIET_MS and agent.is_done and not has_open_tools and has_arrived
            return StopReason.EXIT if is_played or waited >= self.exit_grace_ms else None
        if self.left_at_ms is not None:
            if user.has_plans and t_ms - self.left_at_ms < self.exit_grace_ms:
                self._silent_since_ms = t_ms
            if t_ms - self._silent_since_ms >= self.drain_ms + self.to_agent_ms:
                return StopReason.CALLER_DONE
        if t_ms < self.max_ms or (has_open_tools and t_ms < self.max_ms + self.drain_ms):
            return None
        return StopReason.TIMEOUT
