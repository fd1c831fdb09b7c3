import pytest

from duologue.errors import RegistryError, ToolError
from duologue.records.action import Side
from duologue.state.side_state import SideState
from duologue.toolkit.dual_state import DualState
from duologue.toolkit.rules import apply_dotted_delta
from tests.bridge.counter_shop import shop_scenario


def test_a_delta_with_a_path_that_is_not_there_changes_nothing() -> None:
    state = SideState("shop", {"order": {"status": "open"}})
    with pytest.raises(ToolError, match=r"'order\.price': no 'price'"):
        apply_dotted_delta(state, {"order.status": "paid", "order.price": 3})
    assert state.db == {"order": {"status": "open"}}


def test_a_side_has_its_own_tools_only() -> None:
    with pytest.raises(RegistryError, match="'pay_bill' belongs to the user side, not to the agent side"):
        DualState.for_scenario(shop_scenario()).invoke(Side.AGENT, "pay_bill", {})
