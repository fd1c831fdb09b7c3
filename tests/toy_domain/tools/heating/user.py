from duologue.errors import InvalidArguments
from duologue.records.action import Side
from duologue.state.side_state import SideState
from duologue.toolkit.results import ToolResult
from duologue.toolkit.tool import read_tool, write_tool

DOMAIN = "heating"


@read_tool(DOMAIN, Side.USER, "Read the thermostat.")
def check_thermostat(state: SideState) -> ToolResult:
    db = state.database
    is_heating = db["supply_on"] and db["target_c"] > db["room_c"]
    return ToolResult({"heating": is_heating, "target_c": db["target_c"]})


@write_tool(DOMAIN, Side.USER, "Set the target temperature.", {"celsius": {"type": "integer"}})
def set_target(state: SideState, celsius: int) -> ToolResult:
    if not 5 <= celsius <= 30:
        raise InvalidArguments("celsius must be between 5 and 30")
    state.database["target_c"] = celsius
    return ToolResult({"target_c": celsius})
