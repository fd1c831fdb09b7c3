from duologue.records.action import Side
from duologue.state.side_state import SideState
from duologue.toolkit.view import side_view, visible_state


def test_view_of_a_domain_decides_what_is_seen() -> None:
    @side_view("viewed_shop", Side.AGENT)
    def show(state: SideState) -> dict[str, dict[str, object]]:
        return {"Till": {"Coins": (state.db or {})["coins"]}}

    state = SideState("viewed_shop", {"coins": 3, "secret": 1})
    assert visible_state(Side.AGENT, state) == {"Till": {"Coins": 3}}


def test_without_a_view_the_user_sees_everything_and_the_agent_nothing() -> None:
    state = SideState("plain_shop", {"coins": 3})
    assert visible_state(Side.USER, state) == {"coins": 3}
    assert visible_state(Side.AGENT, state) is None
    assert visible_state(Side.USER, SideState("plain_shop")) is None
