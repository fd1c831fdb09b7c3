"""What a call is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from duologue.protocol.messages import SAMPLE_RATE_HZ
from duologue.records.action import ReferenceAction, Side

BotProtocol = Literal["lockstep", "realtime"]


@dataclass(frozen=True, slots=True)
class RealtimeSettings:
    """How bots are met in real time.

    ``frame_ms`` is the length of an audio frame toward a bot. A bot's sound is played ``jitter_ms`` after it came in.
    A call is given up when the bridge is ``max_lag_ms`` late, or a bot says that it is, and does not count when more
    than ``max_late_share`` of the frames left more than ``jitter_ms`` late. ``kick_off_after_s``: how long after the
    start of the call. A bot that is busy is asked ``busy_attempts`` times, first after ``busy_wait_s``, then after
    twice as long each time.
    """

    frame_ms: int = 20
    jitter_ms: int = 80
    max_lag_ms: int = 500
    max_late_share: float = 0.02
    kick_off_after_s: float = 1.0
    busy_attempts: int = 5
    busy_wait_s: float = 1.0


@dataclass(frozen=True, slots=True)
class CallSettings:
    """Bounds and addresses of one call.

    ``*_timeout_s`` are wall time: they bound a bot that hangs and never decide anything else.
    All other times are media time. ``tick_timeout_s`` must exceed the longest answer of a model, because a
    bot's time stands still while its model works. ``kick_off`` goes to the agent, unless the caller speaks
    first. ``caller_gap_s`` and ``caller_patience_s`` are those of
    :class:`~duologue.bridge.recording_machine.RecordingMachine`; the first is also when a machine hears a turn end.
    """

    agent_url: str
    user_url: str
    max_duration_s: float
    token: str | None = None
    pace: Literal["free", "wall"] = "free"
    connect_timeout_s: float = 6.0
    tick_timeout_s: float = 8.0
    request_timeout_s: float = 8.0
    init_timeout_s: float = 8.0
    exit_grace_s: float = 20.0
    drain_s: float = 3.0
    kick_off: str = "Hello"
    caller_gap_s: float = 0.8
    caller_patience_s: float = 5.0
    sample_rate_hz: int = SAMPLE_RATE_HZ
    send_plan: bool = True
    protocol: BotProtocol = "lockstep"
    realtime: RealtimeSettings = RealtimeSettings()

    @property
    def is_realtime(self) -> bool:
        """Whether bots are met on wall time, whatever they offer."""
        return self.protocol == "realtime"

    @property
    def is_paced(self) -> bool:
        """Whether the call takes as long as it lasts."""
        return self.is_realtime or self.pace == "wall"

    def url(self, side: Side) -> str:
        """Return the address of one bot."""
        return self.agent_url if side is Side.AGENT else self.user_url


@dataclass(frozen=True, slots=True)
class PlanPayload:
    """What an oracle brain on the agent side is told: the reference plan, and its mutants by kind."""

    plan: Sequence[ReferenceAction]
    mutations: Mapping[str, Sequence[ReferenceAction]] = field(default_factory=dict)

    def fields(self) -> dict[str, Any]:
        """Return the keys that join the scenario payload."""
        mutations = {kind: [_step(step) for step in steps] for kind, steps in self.mutations.items()}
        return {"plan": [_step(step) for step in self.plan], **({"mutations": mutations} if mutations else {})}


def _step(step: ReferenceAction) -> dict[str, object]:
    return {
        "action_id": step.action_id,
        "side": step.side.value,
        "name": step.name,
        "arguments": step.arguments,
    }
