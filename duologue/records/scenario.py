"""A scenario: one test case, as data."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from pydantic import Field, JsonValue, SerializerFunctionWrapHandler, model_serializer, model_validator

from duologue.records.action import DbAssertion, InitAction, ReferenceAction, Side
from duologue.records.caller import Caller, LiveCaller, read_stored_caller, stored_caller
from duologue.records.conditions import CLEAN, LineConditions
from duologue.records.record import Record

__all__ = [
    "GRADER_LABEL",
    "CatalogueOptions",
    "Instructions",
    "Persona",
    "Resources",
    "Scenario",
    "SideSpec",
    "SignalName",
    "Task",
    "WorldEvent",
]


class SignalName(StrEnum):
    """The engine's own checks that can gate a verdict (strings of the wire contract)."""

    ACTION_MATCH = "is_action_match"
    DB_STATE_MATCH = "db_state_match"
    DB_STATE_ASSERTION = "db_state_assertion"
    NL_ASSERTION = "nl_assertion"
    JUDGE_PASSED = "judge_passed"
    CLEAN_EXIT = "clean_exit"


class Persona(Record):
    """Who a side plays. Empty fields are left out of the prompt."""

    role: str = ""
    name: str = ""
    background: str = ""
    personality: str = ""
    language: str = "English"
    accent: str = ""


class Task(Record):
    """What a side wants, and why."""

    goal: str = ""
    background: str = ""


class Instructions(Record):
    """How a side proceeds: numbered steps and rules."""

    instructions: tuple[str, ...] = ()
    guidelines: tuple[str, ...] = ()


class Resources(Record):
    """What a side can use: tools by name (with constructor settings), facts, and titled notes."""

    tools: dict[str, dict[str, Any]] = Field(default_factory=dict)
    information: tuple[str, ...] = ()
    info_sections: dict[str, str] = Field(default_factory=dict)


GRADER_LABEL = "grader"
"""The label that names the graded check which scores a scenario instead of ``success_signals``."""


class SideSpec(Record):
    """One side of a scenario.

    ``prompt`` is the complete system prompt. ``facts`` is what a scripted brain of this side may know,
    in structured form; it never holds the other side's plan. ``shared_state`` is merged into the bot's
    state before the initialization actions (normally ``{"db_path": ...}``).
    """

    prompt: str
    persona: Persona = Persona()
    task: Task = Task()
    actions: Instructions = Instructions()
    resources: Resources = Resources()
    facts: dict[str, Any] = Field(default_factory=dict)
    shared_state: dict[str, Any] = Field(default_factory=dict)


class WorldEvent(Record):
    """What happens at ``at_ms`` of the call (media time) without anybody's tool: both databases change by a rule.

    ``kind`` names the domain's rule, ``data`` is what it is given. ``before`` is the id of the first reference action
    that the reference solution makes after it; empty when all come before it.
    """

    at_ms: int = Field(ge=0)
    kind: str
    data: dict[str, object] = Field(default_factory=dict)
    before: str = ""


_OPTIONAL = frozenset({"grading", "max_tool_turns", "world_events", "resource_data", "line"})


class Scenario(Record):
    """One test case.

    ``name`` is ``<prefix>__<id>``; ``domain`` is the registry key, shared by every prefix of a domain.
    ``profile`` selects between documented rule variants of a domain. ``reference_actions`` is the
    reference solution; ``success_signals`` are the checks that gate the verdict, the engine's (:class:`SignalName`) or
    the domain's, unless the label ``grader`` names a graded check of the domain; ``grading`` is what that one needs,
    and no bot is ever sent it. ``caller`` is who calls: a live one
    unless it says otherwise. ``max_tool_turns``: after so many turns with tool calls the agent's model is not asked
    again before the caller has spoken. ``world_events`` happen in their order. ``resource_data`` is what the clone of
    each of the domain's resources starts from, by the resource's name; no bot is sent it. ``line`` is what happens to
    sound on its way between the sides, nothing unless it says otherwise; in a trace it is the line of the attempt.

    A live caller and a clean line are left out of a stored scenario, and a recorded caller is stored as
    ``frozen_caller``, its utterances.
    """

    name: str
    domain: str
    task_id: str
    family: str = ""
    description: str = ""
    max_duration_s: float = 900.0
    profile: str = "default"
    user: SideSpec
    agent: SideSpec
    has_user_state: bool = False
    user_needs_tools: bool = False
    initialization_actions: tuple[InitAction, ...] = ()
    reference_actions: tuple[ReferenceAction, ...] = ()
    db_state_assertions: tuple[DbAssertion, ...] = ()
    nl_assertions: tuple[str, ...] = ()
    success_signals: tuple[str, ...] = ()
    ignore_capitalization: bool = False
    ignore_punctuation: bool = False
    clean_text: bool = False
    disallow_extra_items: bool = False
    labels: dict[str, str] = Field(default_factory=dict)
    caller: Caller = LiveCaller()
    grading: dict[str, object] = Field(default_factory=dict)
    max_tool_turns: int | None = Field(default=None, ge=1)
    world_events: tuple[WorldEvent, ...] = ()
    resource_data: dict[str, JsonValue] = Field(default_factory=dict)
    line: LineConditions = CLEAN

    @model_validator(mode="before")
    @classmethod
    def _read_caller(cls, data: object) -> object:
        return read_stored_caller(data) if isinstance(data, Mapping) else data

    @model_validator(mode="after")
    def _check(self) -> Scenario:
        if not self.success_signals and not self.grader:
            raise ValueError(f"scenario {self.name}: success_signals must not be empty without a grader")
        if not self.caller.takes_bot and (self.has_user_state or self.user_needs_tools):
            raise ValueError(f"scenario {self.name}: a caller that is {self.caller.what} has no database and no tools")
        if [event.at_ms for event in self.world_events] != sorted(event.at_ms for event in self.world_events):
            raise ValueError(f"scenario {self.name}: world_events must be in order of at_ms")
        steps = {action.action_id for action in self.reference_actions}
        for event in self.world_events:
            if event.before and event.before not in steps:
                raise ValueError(f"scenario {self.name}: no reference action {event.before!r} for a world event")
        if "__" not in self.name:
            raise ValueError(f"scenario {self.name}: the name must be <prefix>__<id>")
        return self

    @model_serializer(mode="wrap")
    def _without_unused(self, handler: SerializerFunctionWrapHandler) -> dict[str, object]:
        """Leave out what only some domains have."""
        data: dict[str, object] = {}
        for key, value in handler(self).items():
            if key == "caller":
                data.update(stored_caller(self.caller.kind, value))
            elif key not in _OPTIONAL or value:
                data[key] = value
        return data

    @property
    def prefix(self) -> str:
        """The registration the scenario belongs to: the name up to the first two underscores."""
        return self.name.split("__", 1)[0]

    @property
    def grader(self) -> str:
        """The graded check that the label names; empty when ``success_signals`` decide."""
        return self.labels.get(GRADER_LABEL, "")

    @property
    def bot_sides(self) -> tuple[Side, ...]:
        """The sides that take part as bots."""
        return tuple(Side) if self.caller.takes_bot else (Side.AGENT,)

    def side(self, side: Side) -> SideSpec:
        """Return one side's part."""
        return self.agent if side is Side.AGENT else self.user


class CatalogueOptions(Record):
    """What a catalogue is asked for.

    Args:
        split: named subset (``base`` unless the domain has others).
        profile: rule variant; empty means the domain's default.
        extra: values of the domain's own flags, by the flag's name without dashes in front.
    """

    split: str = "base"
    profile: str = ""
    extra: dict[str, str] = Field(default_factory=dict)
