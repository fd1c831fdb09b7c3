"""One side's system prompt, from its persona, task, actions and resources."""

from __future__ import annotations

from duologue.records.scenario import Instructions, Persona, Resources, Task

__all__ = ["render_prompt"]


def render_prompt(persona: Persona, task: Task, actions: Instructions, resources: Resources) -> str:
    """Return the non-empty sections persona, task, actions and resources, joined by a blank line.

    Tools are not listed: the model sees them as function schemas. A persona that says nothing but a language
    gives no section.
    """
    sections = [_persona(persona), _task(task), _actions(actions), _resources(resources)]
    return "\n\n".join(section for section in sections if section)


def _section(title: str, blocks: list[str]) -> str:
    return "\n\n".join([f"## {title}", *blocks]) if blocks else ""


def _persona(persona: Persona) -> str:
    fields = {
        "Name": persona.name,
        "Role": persona.role,
        "Background": persona.background,
        "Personality": persona.personality,
        "Accent": persona.accent,
    }
    lines = [f"- {label}: {text}" for label, text in fields.items() if text]
    if not lines:
        return ""
    return _section("Persona", ["\n".join([*lines, f"- Language: {persona.language}"])])


def _task(task: Task) -> str:
    return _section("Task", [text for text in (task.goal, task.background) if text])


def _actions(actions: Instructions) -> str:
    steps = "\n".join(f"Step {number}: {text}" for number, text in enumerate(actions.instructions, start=1))
    rules = "\n".join(f"- {text}" for text in actions.guidelines)
    return _section("Actions", [block for block in (steps, rules) if block])


def _resources(resources: Resources) -> str:
    facts = "\n".join(f"- {text}" for text in resources.information)
    notes = [f"### {title}\n\n{text}" for title, text in resources.info_sections.items() if text]
    return _section("Resources", [block for block in (facts, *notes) if block])
