"""Results of requests: JSON values to typed objects. Everything here raises ValueError for a wrong shape."""

from __future__ import annotations

import ast
import json
from dataclasses import dataclass, field
from typing import Any

from duologue.protocol.messages import LOCKSTEP, MAX_MESSAGE_BYTES, SAMPLE_RATE_HZ
from duologue.protocol.strict_json import parse_json

_MAX_TICK_S = 600  # after ten minutes without an answer a bot is stuck, whatever it promised
HARNESS_TOOLS = "harness"
"""The value of the capability ``tools`` of a bot that forwards its tool calls."""


@dataclass(frozen=True, slots=True)
class BotAbout:
    """What a bot says of itself in ``bot-ready``.

    ``max_tick_s`` is the longest wall time that one grant may take it (a bot whose model is slow names it).
    ``ends_call``: its exit ends the call on the user side too.
    ``has_harness_tools``: it forwards its tool calls, and the harness owns its database. ``forwards_tools``: it can,
    where a domain wants that. ``world_events``: it takes ``apply_event``.
    """

    version: str
    about: dict[str, Any]
    transport: str = ""
    frame_ms: int = 20
    audio_in_hz: int = SAMPLE_RATE_HZ
    tool_calling: bool = True
    barrier: bool = False
    plan: bool = False
    max_tick_s: float = 0.0
    ends_call: bool = False
    preflight: bool = False
    has_harness_tools: bool = False
    forwards_tools: bool = False
    world_events: bool = False

    @property
    def is_lockstep(self) -> bool:
        """Whether one audio frame in is one grant of time."""
        return self.transport == LOCKSTEP


@dataclass(frozen=True, slots=True)
class Report:
    """The result of ``apply_initialization`` and ``apply_sync_delta``; ``digest`` is None from foreign bots."""

    success: bool
    errors: tuple[str, ...] = ()
    digest: str | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """The result of ``get_scenario_summary``; what a foreign bot does not report is None."""

    actions: tuple[dict[str, Any], ...] = ()
    db_hash: str | None = None
    db: dict[str, Any] | None = None
    digest: str | None = None
    epoch: str | None = None
    prompt_hash: str | None = None
    tools: tuple[str, ...] | None = None
    profile: str | None = None
    has_extras: bool = field(default=False)


def parse_bot_ready(data: object) -> BotAbout:
    """Parse the data of ``bot-ready``; absent capabilities take the values of a stock bot."""
    if not isinstance(data, dict):
        raise ValueError("bot-ready without data")
    about = data.get("about")
    about = about if isinstance(about, dict) else {}
    given = about.get("capabilities")
    given = given if isinstance(given, dict) else {}
    return BotAbout(
        version=str(data.get("version", "")),
        about=about,
        transport=str(given.get("transport", "")),
        frame_ms=_whole(given.get("frame_ms", 20), "frame_ms"),
        audio_in_hz=_whole(given.get("audio_in_hz", SAMPLE_RATE_HZ), "audio_in_hz"),
        tool_calling=bool(given.get("tool_calling", True)),
        barrier=bool(given.get("barrier", False)),
        plan=bool(given.get("plan", False)),
        ends_call=bool(given.get("ends_call", False)),
        preflight=bool(given.get("preflight", False)),
        max_tick_s=_seconds(given.get("max_tick_s", 0.0), "max_tick_s"),
        has_harness_tools=given.get("tools") == HARNESS_TOOLS,
        forwards_tools=given.get("tools") == HARNESS_TOOLS or bool(given.get("forwards_tools", False)),
        world_events=bool(given.get("world_events", False)),
    )


def parse_flag(d: object) -> bool:
    """Parse the result of ``reset``, ``update_system_prompt`` and ``release_action``."""
    if not isinstance(d, bool):
        raise ValueError(f"expected true or false, found {_brief(d)}")
    return d


def parse_report(d: object) -> Report:
    """Parse ``{"success", "errors", "digest"?}``."""
    if not isinstance(d, dict) or not isinstance(d.get("success"), bool):
        raise ValueError(f'expected {{"success": bool, "errors": [...]}}, found {_brief(d)}')
    errors = d.get("errors") or []
    if not isinstance(errors, list):
        raise ValueError(f"errors must be a list, found {_brief(errors)}")
    return Report(d["success"], tuple(str(error) for error in errors), _text(d.get("digest"), "digest"))


def report_fields(report: Report) -> dict[str, object]:
    """Return a report as it travels."""
    return {"success": report.success, "errors": list(report.errors), "digest": report.digest}


def parse_summary(d: object) -> Summary:
    """Parse the scenario summary; unknown keys are ignored."""
    if not isinstance(d, dict):
        raise ValueError(f"expected an object, found {_brief(d)}")
    actions = d.get("actions", [])
    if not isinstance(actions, list) or not all(isinstance(action, dict) for action in actions):
        raise ValueError("actions must be a list of objects")
    db = d.get("db")
    if db is not None and not isinstance(db, dict):
        raise ValueError("db must be an object")
    tools = d.get("tools")
    if tools is not None and (not isinstance(tools, list) or not all(isinstance(name, str) for name in tools)):
        raise ValueError("tools must be a list of names")
    return Summary(
        actions=tuple(actions),
        db_hash=_text(d.get("db_hash"), "db_hash"),
        db=db,
        digest=_text(d.get("digest"), "digest"),
        epoch=_text(d.get("epoch"), "epoch"),
        prompt_hash=_text(d.get("prompt_hash"), "prompt_hash"),
        tools=None if tools is None else tuple(sorted(tools)),
        profile=_text(d.get("profile"), "profile"),
        has_extras="prompt_hash" in d,
    )


def parse_context(d: object) -> list[object]:
    """Parse the LLM context: a list, JSON text, or a Python literal (also one that quotes JSON text).

    Received text is never evaluated; literals go through the literal parser only.
    """
    value = d.get("context") if isinstance(d, dict) else None
    for _ in range(3):
        if isinstance(value, list):
            return value
        if not isinstance(value, str):
            break
        value = _literal(value)
    raise ValueError(f"expected a list of messages, found {_brief(value)}")


def _literal(text: str) -> object:
    if len(text) > MAX_MESSAGE_BYTES:
        raise ValueError(f"a context of {len(text)} characters is too large")
    try:
        return parse_json(text)
    except ValueError:
        pass
    try:
        # A literal can hold what JSON cannot: bytes, sets, infinity.
        return parse_json(json.dumps(ast.literal_eval(text)))
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError) as error:
        raise ValueError(f"a context that is neither JSON nor a literal: {_brief(text)}") from error


def _text(value: object, key: str) -> str | None:
    if value is not None and not isinstance(value, str):
        raise ValueError(f"{key} must be text, found {_brief(value)}")
    return value


def _whole(value: object, key: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{key} must be a whole number, found {_brief(value)}")
    return value


def _seconds(value: Any, key: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _MAX_TICK_S:
        raise ValueError(f"{key} must be 0 to {_MAX_TICK_S} seconds, found {_brief(value)}")
    return float(value)


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:117]}..."
