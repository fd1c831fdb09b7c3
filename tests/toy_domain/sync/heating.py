from duologue.state.side_state import SideState
from duologue.toolkit.rules import RULES_NAME, SYNC_RULES, Deltas, SyncRules, apply_dotted_delta

DOMAIN = "heating"


def sync_heating(agent: SideState, user: SideState) -> Deltas:
    supply_on = agent.database["accounts"][user.database["account_id"]]["supply_on"]
    if user.database["supply_on"] == supply_on:
        return Deltas()
    delta = {"supply_on": supply_on}
    apply_dotted_delta(user, delta)
    return Deltas(user=delta)


SYNC_RULES.register(DOMAIN, RULES_NAME, SyncRules(sync=sync_heating, apply=apply_dotted_delta), owner=__name__)
