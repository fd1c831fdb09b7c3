"""Prompts are the non-empty sections, in one order."""

from __future__ import annotations

from duologue.records.scenario import Instructions, Persona, Resources, Task
from duologue.toolkit.prompt import render_prompt


def test_sections_come_in_order_parted_by_a_blank_line() -> None:
    text = render_prompt(
        Persona(name="Ada"),
        Task(goal="Get warm.", background="It is winter."),
        Instructions(instructions=("Call.", "Wait."), guidelines=("Be brief.",)),
        Resources(information=("Your number is 7.",), info_sections={"House": "It is old."}),
    )
    assert text == (
        "## Persona\n\n- Name: Ada\n- Language: English\n\n"
        "## Task\n\nGet warm.\n\nIt is winter.\n\n"
        "## Actions\n\nStep 1: Call.\nStep 2: Wait.\n\n- Be brief.\n\n"
        "## Resources\n\n- Your number is 7.\n\n### House\n\nIt is old."
    )


def test_empty_sections_are_left_out() -> None:
    resources = Resources(tools={"toggle_data": {}}, info_sections={"Empty": ""})
    assert render_prompt(Persona(), Task(goal="Talk."), Instructions(), resources) == "## Task\n\nTalk."
