"""A scenario: one test case, as data."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import Field, model_validator

from duologue.records.action import DbAssertion, InitAction, ReferenceAction, Side
from duologue.records.record import Record


class SignalName(StrEnum):
    """The checks that can gate a verdict (strings of the wire contract)."""

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


class Scenario(Record):
    """One test case.

    ``name`` is ``<prefix>__<id>``; ``domain`` is the registry key, shared by every prefix of a domain.
    ``profile`` selects between documented rule variants of a domain. ``reference_actions`` is the
    reference solution; ``success_signals`` are the signals that gate the verdict.
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
    success_signals: tuple[SignalName, ...]
    ignore_capitalization: bool = False
    ignore_punctuation: bool = False
    clean_text: bool = False
    disallow_extra_items: bool = False
    labels: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check(self) -> Scenario:
        if not self.success_signals:
            raise ValueError(f"scenario {self.name}: success_signals must not be empty")
        if "__" not in self.name:
            raise ValueError(f"scenario {self.name}: the name must be <prefix>__<id>")
        return self

    @property
    def prefix(self) -> str:
        """The registration the scenario belongs to: the name up to the first two underscores."""
        return self.name.split("__", 1)[0]

    def side(self, side: Side) -> SideSpec:
        """Return one side's part."""
        return self.agent if side is Side.AGENT else self.user


class CatalogueOptions(Record):
    """What a catalogue is asked for.

    Args:
        split: named subset (``base`` unless the domain has others).
        profile: rule variant; empty means the domain's default.
        source: the user's own copy of upstream data (a path, or ``package``), or None for our own data.
    """

    split: str = "base"
    profile: str = ""
    source: str | None = None
