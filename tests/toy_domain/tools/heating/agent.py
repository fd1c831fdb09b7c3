from typing import Any

from duologue.errors import ToolRefusal
from duologue.records.action import Side
from duologue.state.side_state import SideState
from duologue.toolkit.results import ToolResult
from duologue.toolkit.tool import read_tool, write_tool

DOMAIN = "heating"


def account(state: SideState, account_id: str) -> dict[str, Any]:
    accounts: dict[str, dict[str, Any]] = state.database["accounts"]
    if account_id not in accounts:
        raise ToolRefusal(f"There is no account {account_id}.")
    return accounts[account_id]


@read_tool(DOMAIN, Side.AGENT, "Find an account by phone number.", {"phone": {"type": "string"}})
def find_account(state: SideState, phone: str) -> ToolResult:
    for account_id, found in state.database["accounts"].items():
        if found["phone"] == phone:
            return ToolResult({"account_id": account_id, **found})
    raise ToolRefusal(f"No account has the number {phone}.")


@write_tool(DOMAIN, Side.AGENT, "Switch the heating supply of an account on.", {"account_id": {"type": "string"}})
def restore_supply(state: SideState, account_id: str) -> ToolResult:
    found = account(state, account_id)
    if found["supply_on"]:
        return ToolResult({"changed": False}, "The supply was on already.", changed=False)
    found["supply_on"] = True
    return ToolResult({"changed": True}, "The supply is on.")
