"""A tiny dual-side domain: the agent asks for money, the user's wallet shows the bill, paying settles the order."""

from __future__ import annotations

from typing import Any

from duologue.errors import ToolRefusal
from duologue.records.action import InitAction, Side
from duologue.records.scenario import Resources, Scenario, SideSpec, SignalName
from duologue.state.side_state import SideState
from duologue.toolkit.results import ToolResult
from duologue.toolkit.rules import (
    RULES_NAME,
    SYNC_RULES,
    Deltas,
    SyncRules,
    apply_dotted_delta,
    init_function,
)
from duologue.toolkit.tool import write_tool

DOMAIN = "counter_shop"


@write_tool(DOMAIN, Side.AGENT, "Ask the caller for money.")
def request_payment(state: SideState) -> ToolResult:
    order = state.database["order"]
    if order["status"] != "open":
        raise ToolRefusal("already asked")
    order["status"] = "awaiting"
    return ToolResult({"status": "awaiting"})


@write_tool(DOMAIN, Side.AGENT, "Write a remark.", {"text": {"type": "string"}})
def write_remark(state: SideState, text: str) -> ToolResult:
    state.database["order"]["remark"] = text
    return ToolResult({"remark": text})


@write_tool(DOMAIN, Side.USER, "Pay the bill.")
def pay_bill(state: SideState) -> ToolResult:
    if state.database["wallet"]["bill"] != "due":
        raise ToolRefusal("nothing to pay")
    state.database["wallet"]["bill"] = "paid"
    return ToolResult({"bill": "paid"})


@write_tool(DOMAIN, Side.USER, "Lose some coins.")
def drop_coins(state: SideState) -> ToolResult:
    state.database["wallet"]["coins"] -= 1
    return ToolResult({"coins": state.database["wallet"]["coins"]})


@init_function(DOMAIN)
def set_coins(state: SideState, count: int) -> None:
    state.database["wallet"]["coins"] = count


def _sync(agent: SideState, user: SideState) -> Deltas:
    order, wallet = agent.database["order"], user.database["wallet"]
    to_agent: dict[str, Any] = {}
    to_user: dict[str, Any] = {}
    if wallet["bill"] == "paid" and order["status"] == "awaiting":
        to_agent["order.status"] = "paid"
    elif order["status"] == "awaiting" and wallet["bill"] == "none":
        to_user["wallet.bill"] = "due"
    if wallet["shop"] != order["shop"]:
        to_user["wallet.shop"] = order["shop"]
    apply_dotted_delta(agent, to_agent)
    apply_dotted_delta(user, to_user)
    return Deltas(agent=to_agent, user=to_user)


RULES = SyncRules(sync=_sync, apply=apply_dotted_delta, stepwise_profiles=frozenset({"stepwise"}))
SYNC_RULES.register(DOMAIN, RULES_NAME, RULES, owner=__name__)

AGENT_DB = {"order": {"status": "open", "shop": "Corner", "remark": ""}}
USER_DB = {"wallet": {"bill": "none", "shop": "", "coins": 3}}


def shop_scenario(**changes: Any) -> Scenario:
    """Return the one scenario of the shop."""
    agent_tools: dict[str, dict[str, Any]] = {"request_payment": {}, "write_remark": {}, "EndConversationTool": {}}
    fields: dict[str, Any] = {
        "name": "counter_shop__1",
        "domain": DOMAIN,
        "task_id": "1",
        "agent": SideSpec(
            prompt="You sell.",
            resources=Resources(tools=agent_tools),
            facts={"till": 1},
            shared_state={"db": AGENT_DB},
        ),
        "user": SideSpec(
            prompt="You buy.",
            resources=Resources(tools={"pay_bill": {}, "drop_coins": {}}),
            facts={"mood": "good"},
            shared_state={"db": USER_DB},
        ),
        "has_user_state": True,
        "user_needs_tools": True,
        "initialization_actions": (InitAction(side=Side.USER, func_name="set_coins", arguments={"count": 5}),),
        "success_signals": (SignalName.CLEAN_EXIT,),
    }
    return Scenario(**{**fields, **changes})
