"""A domain whose agent works on a resource: apples on a shelf, plain state in memory, one clone for each attempt."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

from pydantic import JsonValue

from duologue.errors import ToolRefusal
from duologue.records.action import Side
from duologue.records.scenario import Resources, Scenario, SideSpec, SignalName
from duologue.toolkit.resources import CloneOrder, Resource, ResourceClone, ResourceSetup, resource
from duologue.toolkit.results import ToolResult
from duologue.toolkit.rules import CATALOGUES, RULES_NAME, Catalogue, ToolHome
from duologue.toolkit.tool import ToolContext, read_tool, write_tool

DOMAIN = "resource_shelf"
DB: dict[str, Any] = {"till": 0}
JOURNAL: list[str] = []
"""What the resource was told, in order."""


class Shelf:
    """What the tools use. ``is_broken`` makes it answer nothing any more."""

    def __init__(self, state: dict[str, Any]) -> None:
        self.state = state
        self.is_broken = False


class ShelfClone(ResourceClone):
    def __init__(self, epoch: str, state: dict[str, Any]) -> None:
        self._epoch = epoch
        self.shelf = Shelf(state)

    @property
    def handle(self) -> Shelf:
        return self.shelf

    async def snapshot(self) -> JsonValue:
        if self.shelf.is_broken:
            raise ConnectionRefusedError("nobody there")
        return copy.deepcopy(self.shelf.state)

    async def restore(self, snapshot: JsonValue) -> None:
        JOURNAL.append(f"restore {self._epoch}")
        assert isinstance(snapshot, dict)
        if not self.shelf.state.get("is_stuck"):
            self.shelf.state = dict(snapshot)

    async def close(self) -> None:
        JOURNAL.append(f"close clone {self._epoch}")


@resource(DOMAIN, "shelf")
class ShelfResource(Resource):
    def __init__(self, setup: ResourceSetup) -> None:
        self.lives = True
        self.clones: list[ShelfClone] = []

    async def start(self) -> None:
        JOURNAL.append("start")

    async def is_alive(self) -> bool:
        return self.lives

    async def clone(self, order: CloneOrder) -> ShelfClone:
        assert isinstance(order.data, dict)
        self.clones.append(ShelfClone(order.epoch, dict(order.data)))
        return self.clones[-1]

    async def close(self) -> None:
        JOURNAL.append("close")


def shelf(context: ToolContext) -> Shelf:
    return context.handle("shelf", Shelf)


AMOUNT = {"count": {"type": "integer", "minimum": 1}}
TOOLS = (
    "take",
    "fall_over",
    "say_no",
    "peek",
    "look",
    "lose",
    "hide_loss",
    "shut_down",
    "sleep_long",
    "guess",
    "stick",
)


@write_tool(DOMAIN, Side.AGENT, "Take apples.", AMOUNT, uses=["shelf"])
async def take(context: ToolContext, count: int) -> ToolResult:
    assert context.state.db is not None
    state = shelf(context).state
    if state["apples"] < count:
        raise ToolRefusal("there are not so many")
    await asyncio.sleep(0)
    state["apples"] -= count
    context.state.db["till"] += count
    return ToolResult({"left": state["apples"]})


@write_tool(DOMAIN, Side.AGENT, "Change both, then fall over.", uses=["shelf"])
async def fall_over(context: ToolContext) -> ToolResult:
    assert context.state.db is not None
    shelf(context).state["apples"] = 0
    context.state.db["till"] = 99
    raise KeyError("shelf two")


@write_tool(DOMAIN, Side.AGENT, "Change both, then say no.", uses=["shelf"])
async def say_no(context: ToolContext) -> ToolResult:
    assert context.state.db is not None
    shelf(context).state["apples"] = 0
    context.state.db["till"] = 99
    raise ToolRefusal("closed")


@read_tool(DOMAIN, Side.AGENT, "Look, and touch.", uses=["shelf"])
async def peek(context: ToolContext) -> ToolResult:
    shelf(context).state["apples"] -= 1
    return ToolResult({"apples": 1})


@read_tool(DOMAIN, Side.AGENT, "Look.", uses=["shelf"])
async def look(context: ToolContext) -> ToolResult:
    return ToolResult(dict(shelf(context).state))


@write_tool(DOMAIN, Side.AGENT, "Be there when it dies.", uses=["shelf"])
async def lose(context: ToolContext) -> ToolResult:
    assert context.state.db is not None
    context.state.db["till"] = 99
    shelf(context).is_broken = True
    raise ConnectionResetError("gone")


@write_tool(DOMAIN, Side.AGENT, "Be there when it dies, and say that all is well.", uses=["shelf"])
async def hide_loss(context: ToolContext) -> ToolResult:
    shelf(context).is_broken = True
    return ToolResult({"ok": True})


@write_tool(DOMAIN, Side.AGENT, "Be there when it dies, and blame the caller.", uses=["shelf"])
async def shut_down(context: ToolContext) -> ToolResult:
    shelf(context).is_broken = True
    raise ToolRefusal("try again later")


@write_tool(DOMAIN, Side.AGENT, "Never end.", uses=["shelf"])
async def sleep_long(context: ToolContext) -> ToolResult:
    shelf(context).state["apples"] = 0
    await asyncio.Event().wait()
    raise AssertionError


@read_tool(DOMAIN, Side.AGENT, "Use what was not declared.")
async def guess(context: ToolContext) -> ToolResult:
    return ToolResult(dict(shelf(context).state))


@write_tool(DOMAIN, Side.AGENT, "Change what cannot be put back, then fall over.", uses=["shelf"])
async def stick(context: ToolContext) -> ToolResult:
    shelf(context).state["is_stuck"] = True
    raise KeyError("stuck")


CATALOGUES.register(
    DOMAIN,
    RULES_NAME,
    Catalogue(load=lambda options: [], prefixes=(DOMAIN,), tool_homes={Side.AGENT: ToolHome.HARNESS}),
    owner=__name__,
)


def shelf_scenario(**changes: Any) -> Scenario:
    agent = SideSpec(
        prompt="You sell.", resources=Resources(tools={name: {} for name in TOOLS}), shared_state={"db": DB}
    )
    fields: dict[str, Any] = {
        "name": f"{DOMAIN}__one",
        "domain": DOMAIN,
        "task_id": "one",
        "user": SideSpec(prompt="You call."),
        "agent": agent,
        "success_signals": (SignalName.CLEAN_EXIT,),
        "resource_data": {"shelf": {"apples": 3}},
    }
    return Scenario(**{**fields, **changes})
