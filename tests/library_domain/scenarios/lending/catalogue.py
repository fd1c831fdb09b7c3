from __future__ import annotations

from typing import Any

from duologue.records.action import ReferenceAction, Side
from duologue.records.caller import ClipSource, MachineCaller
from duologue.records.scenario import CatalogueOptions, Resources, Scenario, SideSpec, WorldEvent
from duologue.state.fixtures import data_file, read_json, read_text
from duologue.toolkit.rules import CATALOGUES, RULES_NAME, Catalogue, ToolHome
from duologue.toolkit.tool import END_CALL_TOOL, side_tools

DOMAIN = "lending"


def scenario(record: dict[str, Any]) -> Scenario:
    return Scenario(
        name=f"{DOMAIN}__{record['id']}",
        domain=DOMAIN,
        task_id=record["id"],
        user=SideSpec(prompt=""),
        agent=SideSpec(
            prompt=read_text(data_file(f"{DOMAIN}/policy.md")),
            resources=Resources(tools={name: {} for name in (*side_tools(DOMAIN, Side.AGENT), END_CALL_TOOL)}),
            facts={"caller": "recording", "user_turns": len(record["lines"]), "one_by_one": True},
            shared_state={"db": {"closed_days": []}},
        ),
        caller=MachineCaller(
            machine="reader",
            clips={name: ClipSource(text=text) for name, text in record["lines"].items()},
            settings={"lines": list(record["lines"])},
        ),
        resource_data={"desk": record["loans"]},
        world_events=tuple(WorldEvent(**event) for event in record["happens"]),
        reference_actions=tuple(ReferenceAction(side=Side.AGENT, **action) for action in record["reference"]),
        success_signals=("loans_right",),
        grading={"loans": record["right"]},
        max_duration_s=60.0,
    )


def load(options: CatalogueOptions) -> list[Scenario]:
    return [scenario(record) for record in read_json(data_file(f"{DOMAIN}/tasks.json"))]


CATALOGUES.register(
    DOMAIN,
    RULES_NAME,
    Catalogue(load=load, prefixes=(DOMAIN,), tool_homes={Side.AGENT: ToolHome.HARNESS}),
    owner=__name__,
)
