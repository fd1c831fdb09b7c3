"""What a person is told before the call: who they are, and which tools their side has."""

from __future__ import annotations

import re
from typing import Any

from duologue.records.action import Side
from duologue.records.scenario import Scenario, SideSpec
from duologue.toolkit.prompt import render_prompt
from duologue.toolkit.tool import Tool, find_tool
from duologue.toolkit.vocabulary import Vocabulary, vocabulary_of

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+[a-z]?")
_LABELS = {"id": "ID"}


def role_card(scenario: Scenario, side: Side) -> dict[str, Any]:
    """Return the card of one side: a title and sections; ``is_open`` False for what is read once.

    A side whose prompt is more than its structured parts gets the prompt itself as its brief. The other side's
    part, the reference actions and the checks are never in it.
    """
    spec = scenario.side(side)
    is_structured = render_prompt(spec.persona, spec.task, spec.actions, spec.resources) == spec.prompt
    sections = _structured(spec) if is_structured else [_section("Your brief", "text", [spec.prompt])]
    return {"title": _title(spec, side), "sections": sections}


def tool_cards(scenario: Scenario, side: Side) -> list[dict[str, object]]:
    """Return one entry for each tool of the side, in the scenario's order, with its JSON schema."""
    vocabulary = vocabulary_of(scenario.domain)
    return [
        _tool_card(find_tool(scenario.domain, name, settings), vocabulary)
        for name, settings in scenario.side(side).resources.tools.items()
    ]


def readable(name: str, vocabulary: Vocabulary) -> str:
    """Return a name of code in words: ``list_rooms_by_id`` is ``List rooms by ID``."""
    words = [word.lower() for word in _WORD.findall(name)]
    labels = {**_LABELS, **vocabulary.labels}
    shown = [labels.get(word, word) for word in words]
    if len(shown) > 1 and shown[-1] == "tool":
        shown.pop()
    text = " ".join(shown) or name
    return text[0].upper() + text[1:]


def _tool_card(tool: Tool, vocabulary: Vocabulary) -> dict[str, object]:
    return {
        "name": tool.name,
        "label": readable(tool.name, vocabulary),
        "kind": tool.kind.value,
        "description": tool.description,
        "parameters": tool.schema,
        "ends_call": bool(tool.exit_text),
    }


def _title(spec: SideSpec, side: Side) -> str:
    if spec.persona.role:
        return spec.persona.role
    return "You are the caller" if side is Side.USER else "You are the agent"


def _structured(spec: SideSpec) -> list[dict[str, object]]:
    persona = {
        "Name": spec.persona.name,
        "Background": spec.persona.background,
        "Personality": spec.persona.personality,
        "Accent": spec.persona.accent,
        "Language": spec.persona.language,
    }
    lines = [f"{label}: {text}" for label, text in persona.items() if text and text != "English"]
    sections = [
        _section("Who you are", "list", lines),
        _section("Why you are here", "text", [text for text in (spec.task.goal, spec.task.background) if text]),
        _section("What you know", "list", list(spec.resources.information)),
        *(_section(title, "text", [text]) for title, text in spec.resources.info_sections.items() if text),
        _section("How the call goes", "steps", list(spec.actions.instructions), is_open=False),
        _section("Rules", "list", list(spec.actions.guidelines), is_open=False),
    ]
    return [section for section in sections if section["items"]]


def _section(title: str, kind: str, items: list[str], *, is_open: bool = True) -> dict[str, object]:
    return {"title": title, "kind": kind, "items": items, "is_open": is_open}
