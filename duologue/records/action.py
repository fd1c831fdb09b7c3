"""Actions: what a scenario starts with, what it expects, what a bot did."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import Field

from duologue.records.record import Record

__all__ = ["DbAssertion", "Delta", "InitAction", "RecordedAction", "ReferenceAction", "Side"]


class Side(StrEnum):
    """A party of the call."""

    AGENT = "agent"
    USER = "user"

    @property
    def other(self) -> Side:
        """The party at the other end."""
        return Side.USER if self is Side.AGENT else Side.AGENT


class InitAction(Record):
    """One initialization function to run on one side's database before the call."""

    side: Side
    func_name: str
    arguments: dict[str, Any] = Field(default_factory=dict)


class ReferenceAction(Record):
    """One step of the reference solution.

    ``compare_args``: None compares all arguments, an empty tuple only the name, otherwise the named ones.
    """

    action_id: str
    side: Side
    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    compare_args: tuple[str, ...] | None = None


class DbAssertion(Record):
    """A predicate on one side's final database and the value it must return."""

    side: Side
    func_name: str
    arguments: dict[str, object] = Field(default_factory=dict)
    assert_value: object = True
    message: str | None = None


class RecordedAction(Record):
    """A write that a bot performed, as it stands in the action log and in ``action-applied``.

    ``seq`` counts from 1 per side and epoch; ``side`` is stamped by the bridge.
    """

    action_type: str
    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    result: Any = None
    seq: int | None = None
    epoch: str | None = None
    side: Side | None = None


Delta = dict[str, object]
"""Changes to one side's database: path (``a.b`` or ``table[ID].field``) to new value."""
