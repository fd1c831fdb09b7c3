"""A caller who complains, says yes, does not let anybody talk on, and hangs up after a goodbye."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from duologue.toolkit.caller_machine import (
    AgentStarted,
    AgentStopped,
    HangUp,
    Happening,
    MachineSetup,
    Move,
    PlayClip,
    TimePassed,
    WordsHeard,
    caller_machine,
)


@caller_machine("errands", "complainer")
class Complainer:
    """Answers turn by turn; ``limit_ms`` is how long the agent may talk."""

    def __init__(self, setup: MachineSetup) -> None:
        self._limit_ms: Any = setup.settings["limit_ms"]
        self._answers = ["complaint", "yes"]
        self._began_ms: int | None = None
        self._heard = ""

    def take(self, happening: Happening) -> Sequence[Move]:
        """Answer a turn that is over, and break into one that is too long."""
        match happening:
            case AgentStarted(at_ms):
                self._began_ms, self._heard = at_ms, ""
            case WordsHeard(_, text):
                self._heard += text
            case TimePassed(at_ms, is_agent_audible=True) if self._is_too_long(at_ms):
                self._began_ms = None
                return (PlayClip("stop", at_ms),)
            case AgentStopped(at_ms) if self._began_ms is not None:
                self._began_ms = None
                if "goodbye" in self._heard.lower():
                    return (HangUp(),)
                if self._answers:
                    return (PlayClip(self._answers.pop(0), at_ms),)
        return ()

    def _is_too_long(self, at_ms: int) -> bool:
        return self._began_ms is not None and at_ms >= self._began_ms + self._limit_ms
