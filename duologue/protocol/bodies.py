"""What requests and pushes carry, as models: both ends of the wire read them here.

A body that does not fit raises :class:`MalformedRequest`, whose text names the request, the field and what it must be.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from duologue.errors import MalformedRequest
from duologue.records.action import Side
from duologue.registry import DEFAULT_DOMAIN

JsonObject = dict[str, object]
"""A JSON object whose values are only passed on."""

_WORDED = {
    "missing": "is missing",
    "dict_type": "must be an object",
    "list_type": "must be a list",
    "string_type": "must be a text",
    "string_too_short": "must be a text that is not empty",
    "int_type": "must be a whole number",
    "bool_type": "must be true or false",
}


def _object(value: object) -> object:
    """Return the object in a JSON text (an object itself is taken too); absent means empty."""
    if value is None or value == "":
        return {}
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except json.JSONDecodeError as error:
            raise ValueError(f"is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise ValueError("must be an object")
    return value


def _listed(value: object) -> object:
    return value or []


ObjectText = Annotated[JsonObject, BeforeValidator(_object)]
"""An object that travels as JSON text."""


class Body(BaseModel):
    """The fields of one message; unknown ones are ignored, and null counts as absent."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    @model_validator(mode="before")
    @classmethod
    def _without_null(cls, fields: object) -> object:
        return (
            {key: value for key, value in fields.items() if value is not None} if isinstance(fields, dict) else fields
        )

    @classmethod
    def read(cls, kind: str, fields: object) -> Self:
        """Return the body in ``fields``; ``kind`` is the message's name, for the error.

        Raises:
            MalformedRequest: a field is missing or of the wrong kind.
        """
        try:
            return cls.model_validate(fields if isinstance(fields, Mapping) else {})
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(str(part) for part in first["loc"])
            what = _WORDED.get(first["type"]) or first["msg"].removeprefix("Value error, ")
            raise MalformedRequest(f"{kind}: {where} {what}") from error


class StartBody(Body):
    """``update_system_prompt``: begins a scenario. ``scenario`` is what a bot's brain may know of it."""

    prompt: str = Field(min_length=1)
    tools: ObjectText = Field(default_factory=dict)
    tool_domain: str = DEFAULT_DOMAIN
    scenario: ObjectText = Field(default_factory=dict)
    add_suffix: bool = True
    tool_schemas: list[JsonObject] | None = None

    @property
    def is_forwarding(self) -> bool:
        """Whether the harness runs the tools, so that calls are forwarded."""
        return self.tool_schemas is not None

    @property
    def epoch(self) -> str | None:
        """The epoch that writes and releases carry; None from foreign bridges."""
        epoch = self.scenario.get("epoch")
        return str(epoch) if epoch else None

    @property
    def profile(self) -> str:
        """The rule variant of the domain."""
        return str(self.scenario.get("profile") or "default")

    @property
    def language(self) -> str | None:
        """The language that the caller speaks; None leaves it to the bot."""
        language = self.scenario.get("language")
        return str(language) if language else None

    @property
    def max_tool_turns(self) -> int | None:
        """How often the model may answer one turn with tool calls; None sets no bound.

        Raises:
            MalformedRequest: it is not a whole number from 1.
        """
        limit = self.scenario.get("max_tool_turns")
        if limit is None:
            return None
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
            raise MalformedRequest(f"update_system_prompt: max_tool_turns must be a whole number from 1, not {limit!r}")
        return limit


class InitActionBody(Body):
    """One initialization function and its arguments."""

    func_name: str
    arguments: Annotated[JsonObject, BeforeValidator(_object)] = Field(default_factory=dict)


class InitializationBody(Body):
    """``apply_initialization``: puts a side into its initial state, all of it or none."""

    domain: str | None = None
    shared_state_init: ObjectText = Field(default_factory=dict)
    actions: Annotated[list[InitActionBody], BeforeValidator(_listed)] = Field(default_factory=list)


class DeltaBody(Body):
    """``apply_sync_delta``: what the other side's write changes on this one. ``epoch`` is None from foreign bridges."""

    domain: str | None = None
    delta: JsonObject
    epoch: str | None = None


class EventBody(Body):
    """``apply_event``: a world event happens on this side."""

    kind: str
    side: Side
    data: JsonObject = Field(default_factory=dict)
    epoch: str | None = None


class SummaryBody(Body):
    """``get_scenario_summary``."""

    include_db: bool = False


class ReleaseBody(Body):
    """``release_action``: the result of write ``seq`` may go to the model; ``errors`` say that its deltas failed."""

    seq: int = Field(strict=True)
    epoch: str | None = None
    success: bool = False
    errors: Annotated[list[object], BeforeValidator(_listed)] = Field(default_factory=list)

    @property
    def problems(self) -> list[str]:
        """What kept the other side from being brought up to date; empty when nothing did."""
        if self.success:
            return []
        return [str(error) for error in self.errors] or ["the bridge reported a failure"]


TOOL_CALL = "tool-call"


class ToolCallBody(Body):
    """The push ``tool-call``: a bot that does not host its tools asks the harness to run one."""

    id: str = Field(min_length=1)
    name: str
    arguments: Annotated[JsonObject, BeforeValidator(_object)] = Field(default_factory=dict)


class ToolResultBody(Body):
    """``tool-result``: what became of a call that this bot forwarded."""

    id: str
    name: str = ""
    result: object = None
    ends_call: bool = False
