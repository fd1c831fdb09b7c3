"""A reader who says one thing after the other, and hangs up when all is said and answered."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import TypeAdapter
from tools.lending.desk import DOMAIN

from duologue.toolkit.caller_machine import (
    AgentStopped,
    HangUp,
    Happening,
    MachineSetup,
    Move,
    PlayClip,
    caller_machine,
)


@caller_machine(DOMAIN, "reader")
class Reader:
    def __init__(self, setup: MachineSetup) -> None:
        self._lines = TypeAdapter(list[str]).validate_python(setup.settings["lines"])

    def take(self, happening: Happening) -> Sequence[Move]:
        match happening:
            case AgentStopped(at_ms):
                return (PlayClip(self._lines.pop(0), at_ms),) if self._lines else (HangUp(),)
        return ()
