"""What a watcher of a run sees: the events of the running call, folded into a few facts."""

from __future__ import annotations

from dataclasses import dataclass, field

from duologue.records.action import Side
from duologue.records.event import BotSpeaking, Event, Fault, HeardText, SpokenText, ToolCalled
from duologue.records.outcome import OutcomeKind
from duologue.records.result import ScenarioResult
from duologue.records.shown import one_line


@dataclass(slots=True)
class Score:
    """The outcomes so far."""

    passed: int = 0
    failed: int = 0
    not_evaluable: int = 0

    def add(self, result: ScenarioResult) -> None:
        """Count one result."""
        kind = result.outcome.kind
        self.passed += kind is OutcomeKind.PASSED
        self.failed += kind is OutcomeKind.FAILED
        self.not_evaluable += kind is OutcomeKind.NOT_EVALUABLE

    @property
    def evaluable(self) -> int:
        """How many attempts count."""
        return self.passed + self.failed

    def __str__(self) -> str:
        text = f"{self.passed} of {self.evaluable} passed"
        return f"{text}, {self.not_evaluable} not evaluable" if self.not_evaluable else text


@dataclass(slots=True)
class CallView:
    """The running call: whose turn, which words, which tool."""

    turns: int = 0
    media_ms: int = 0
    said: dict[Side, str] = field(default_factory=dict)
    tool: str = ""
    fault: str = ""
    _open: dict[Side, str] = field(default_factory=dict)

    def see(self, event: Event) -> tuple[Side, str] | None:
        """Take in one event; returns a side's utterance when it has just ended."""
        match event:
            case BotSpeaking(side=side, speaking=True):
                self.turns += 1
                self._open[side] = ""
            case SpokenText(side=side, text=text):
                self._open[side] = self._open.get(side, "") + text
                self.said[side] = one_line(self._open[side])
            case BotSpeaking(side=side, speaking=False):
                text = one_line(self._open.pop(side, ""))
                return (side, text) if text else None
            case ToolCalled(side=side, name=name, arguments=arguments):
                shown = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
                self.tool = one_line(f"{side}: {name}({shown})")
            case Fault(cause=cause, message=message):
                self.fault = one_line(f"{cause}: {message}")
            case HeardText():
                pass
            case _:
                pass
        return None


def clock_text(media_ms: int) -> str:
    """Return ``m:ss`` of a time in milliseconds."""
    minutes, seconds = divmod(media_ms // 1000, 60)
    return f"{minutes}:{seconds:02d}"


def outcome_text(result: ScenarioResult) -> str:
    """Return an outcome for people: ``passed``, ``failed`` or ``not evaluable (cause)``."""
    outcome = result.outcome
    if outcome.kind is OutcomeKind.NOT_EVALUABLE:
        return f"not evaluable ({outcome.cause})"
    return outcome.kind.value
