"""The librarian's tools: a notice board in the database, and loans at the desk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tools.lending.desk import DOMAIN, DeskClient

from duologue.records.action import Side
from duologue.state.side_state import SideState
from duologue.toolkit.results import ToolResult
from duologue.toolkit.tool import ToolContext, read_tool, write_tool
from duologue.toolkit.world import world_event


@read_tool(DOMAIN, Side.AGENT, "Read the notice board: the days on which the library is closed.")
def read_notices(state: SideState) -> ToolResult:
    return ToolResult({"closed_days": state.database["closed_days"]})


@read_tool(DOMAIN, Side.AGENT, "List the loans of the caller.", uses=["desk"])
async def list_loans(context: ToolContext) -> ToolResult:
    return ToolResult(await context.handle("desk", DeskClient).ask("GET", "/loans"))


@write_tool(
    DOMAIN,
    Side.AGENT,
    "Renew a loan by some days; it is due one day later when the library is closed then.",
    {"book": {"type": "string"}, "days": {"type": "integer", "minimum": 1, "maximum": 28}},
    uses=["desk"],
)
async def renew_loan(context: ToolContext, book: str, days: int) -> ToolResult:
    desk = context.handle("desk", DeskClient)
    loans = await desk.ask("GET", "/loans")
    day = loans.get(book, {}).get("due_day", 0) + days
    while day in context.state.database["closed_days"]:
        day += 1
    loan = await desk.ask("POST", f"/loans/{book}/renewals", {"day": day})
    return ToolResult({"due_day": loan["due_day"]}, f"{book} is due on day {loan['due_day']}.")


@world_event(DOMAIN)
def closing_announced(state: SideState, side: Side, data: Mapping[str, Any]) -> None:
    state.database["closed_days"].append(data["day"])
