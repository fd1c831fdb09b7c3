from typing import Any

from duologue.records.action import DbAssertion, InitAction, ReferenceAction, Side
from duologue.records.scenario import (
    CatalogueOptions,
    Instructions,
    Persona,
    Resources,
    Scenario,
    SideSpec,
    SignalName,
    Task,
)
from duologue.state.fixtures import data_file, read_json
from duologue.toolkit.prompt import render_prompt
from duologue.toolkit.rules import CATALOGUES, RULES_NAME, Catalogue
from duologue.toolkit.tool import END_CALL_TOOL, side_tools

DOMAIN = "heating"


def user_side() -> SideSpec:
    persona = Persona(name="Ada Brown")
    task = Task(goal="Your room is cold. You want the thermostat to say that it is heating.")
    actions = Instructions(guidelines=("Touch the thermostat only when the agent asks you to.",))
    resources = Resources(
        tools={name: {} for name in side_tools(DOMAIN, Side.USER)},
        information=("Your phone number is 555-010-7000.",),
    )
    return SideSpec(
        prompt=render_prompt(persona, task, actions, resources),
        persona=persona,
        task=task,
        actions=actions,
        resources=resources,
        facts={"name": "Ada Brown", "phone": "five, five, five. Zero, one, zero. Seven, zero, zero, zero."},
        shared_state={"db_path": f"{DOMAIN}/user_db"},
    )


def agent_side() -> SideSpec:
    tools: dict[str, dict[str, Any]] = {name: {} for name in (*side_tools(DOMAIN, Side.AGENT), END_CALL_TOOL)}
    return SideSpec(
        prompt=data_file(f"{DOMAIN}/policy.md").read_text("utf-8"),
        resources=Resources(tools=tools),
        facts={"family": "cold_room"},
        shared_state={"db_path": f"{DOMAIN}/db"},
    )


def scenario(record: dict) -> Scenario:
    return Scenario(
        name=f"{DOMAIN}__{record['id']}",
        domain=DOMAIN,
        task_id=record["id"],
        family="cold_room",
        user=user_side(),
        agent=agent_side(),
        has_user_state=True,
        user_needs_tools=True,
        initialization_actions=tuple(InitAction(**action) for action in record["init"]),
        reference_actions=tuple(ReferenceAction(**action) for action in record["reference"]),
        db_state_assertions=(DbAssertion(side=Side.USER, func_name="assert_heating"),),
        success_signals=(SignalName.DB_STATE_ASSERTION, SignalName.CLEAN_EXIT),
    )


def load(options: CatalogueOptions) -> list[Scenario]:
    return [scenario(record) for record in read_json(data_file(f"{DOMAIN}/tasks.json"))]


CATALOGUES.register(DOMAIN, RULES_NAME, Catalogue(load=load, prefixes=(DOMAIN,)), owner=__name__)
