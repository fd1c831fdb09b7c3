"""The action log of one side: numbered records of its writes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from duologue.records.action import RecordedAction
from duologue.toolkit.results import ToolOutcome
from duologue.toolkit.tool import Tool


@dataclass(slots=True)
class Ledger:
    """Numbers and keeps the writes of one side in one epoch."""

    epoch: str | None = None
    actions: list[RecordedAction] = field(default_factory=list)

    def record(self, tool: Tool, arguments: dict[str, Any], outcome: ToolOutcome) -> RecordedAction:
        """Append and return the record of a write; ``seq`` counts from 1."""
        action = RecordedAction(
            action_type=tool.kind.value,
            name=tool.name,
            arguments=arguments,
            result=outcome.value,
            seq=len(self.actions) + 1,
            epoch=self.epoch,
        )
        self.actions.append(action)
        return action
