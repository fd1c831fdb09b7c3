"""A tiny dual-side domain for scoring tests: a shop's price list and a caller's purse."""

from __future__ import annotations

from typing import Any

from duologue.errors import ToolError, ToolRefusal
from duologue.records.action import DbAssertion, ReferenceAction, Side
from duologue.records.scenario import Scenario, SideSpec, SignalName
from duologue.state.side_state import SideState
from duologue.toolkit.results import ToolResult
from duologue.toolkit.rules import predicate
from duologue.toolkit.tool import generic_tool, read_tool, write_tool

DOMAIN = "scoring_shop"


@write_tool(DOMAIN, Side.AGENT, "Set a price.", {"item": {}, "price": {}, "note": {}})
def set_price(state: SideState, item: str, price: float, note: str = "") -> ToolResult:
    items = state.database["items"]
    if item not in items:
        raise ToolRefusal(f"no item {item}")
    items[item]["price"] = price
    return ToolResult({"item": item, "price": price})


@read_tool(DOMAIN, Side.AGENT, "Look up a price.", {"item": {}})
def get_price(state: SideState, item: str) -> ToolResult:
    if item not in state.database["items"]:
        raise ToolRefusal(f"no item {item}")
    return ToolResult({"price": state.database["items"][item]["price"]})


@write_tool(DOMAIN, Side.USER, "Pay.")
def pay(state: SideState) -> ToolResult:
    state.database["paid"] = True
    return ToolResult({"paid": True})


@generic_tool(DOMAIN, Side.AGENT, "Hand over.", {"summary": {}})
def hand_over(state: SideState, summary: str) -> ToolResult:
    return ToolResult({"handed_over": True})


@generic_tool(DOMAIN, None, "Wave.")
def wave(state: SideState) -> ToolResult:
    return ToolResult({"waved": True})


@predicate(DOMAIN)
def price_is(db: dict[str, Any], item: str, price: float) -> bool:
    if item not in db["items"]:
        raise ToolError(f"no item {item}")
    return bool(db["items"][item]["price"] == price)


@predicate(DOMAIN)
def has_paid(db: dict[str, Any]) -> bool:
    return bool(db["paid"])


@predicate(DOMAIN)
def says_maybe(db: dict[str, Any]) -> bool:
    return "maybe"  # type: ignore[return-value]


AGENT, USER = Side.AGENT, Side.USER
PREDICATES, ACTIONS = SignalName.DB_STATE_ASSERTION, SignalName.ACTION_MATCH
STATE, EXIT = SignalName.DB_STATE_MATCH, SignalName.CLEAN_EXIT


def step(name: str, side: Side = AGENT, *, compare: tuple[str, ...] | None = None, **arguments: Any) -> ReferenceAction:
    return ReferenceAction(action_id=f"{name}_0", side=side, name=name, arguments=arguments, compare_args=compare)


def claim(name: str, side: Side = AGENT, **arguments: Any) -> DbAssertion:
    return DbAssertion(side=side, func_name=name, arguments=arguments)


def shop_scenario(**changes: Any) -> Scenario:
    """A scenario that asks for the price 7.5 on A1 and for payment, unless told otherwise."""
    agent_db = {"items": {"A1": {"price": 5.0}, "02134": {"price": 1.0}}}
    values: dict[str, Any] = {
        "name": "shop__price",
        "domain": DOMAIN,
        "task_id": "price",
        "family": "prices",
        "agent": SideSpec(prompt="You keep a shop.", shared_state={"db": agent_db}),
        "user": SideSpec(prompt="You buy things.", shared_state={"db": {"paid": False}}),
        "has_user_state": True,
        "reference_actions": (step("set_price", item="A1", price=7.5), step("pay", USER)),
        "db_state_assertions": (claim("price_is", item="A1", price=7.5), claim("has_paid", USER)),
        "success_signals": (PREDICATES, EXIT),
    }
    return Scenario(**{**values, **changes})
