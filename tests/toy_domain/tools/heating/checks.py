from duologue.errors import ToolError
from duologue.state.side_state import SideState
from duologue.toolkit.rules import init_function, predicate

DOMAIN = "heating"


@init_function(DOMAIN)
def cut_supply(state: SideState, account_id: str) -> None:
    if account_id not in state.database["accounts"]:
        raise ToolError(f"no account {account_id!r}")
    state.database["accounts"][account_id]["supply_on"] = False


@init_function(DOMAIN)
def turn_down(state: SideState, celsius: int) -> None:
    state.database["target_c"] = celsius


@predicate(DOMAIN)
def assert_heating(db: dict) -> bool:
    return bool(db["supply_on"] and db["target_c"] > db["room_c"])
