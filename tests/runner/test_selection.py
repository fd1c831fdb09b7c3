import pytest

from duologue.errors import RegistryError
from duologue.records.scenario import Scenario, SideSpec, SignalName
from duologue.runner.selection import count_by_prefix, select_scenarios


def scenario(name: str) -> Scenario:
    side = SideSpec(prompt="Say hello.")
    return Scenario(
        name=name, domain="shop", task_id=name, user=side, agent=side, success_signals=(SignalName.CLEAN_EXIT,)
    )


ALL = [scenario(name) for name in ("shop__refund", "shop__order", "shop_workflow__refund")]


def names(**choice: object) -> list[str]:
    return [chosen.name for chosen in select_scenarios(ALL, **choice)]  # type: ignore[arg-type]


def test_prefix_ends_at_two_underscores() -> None:
    assert names(prefix="shop") == ["shop__refund", "shop__order"]
    assert names(prefix="shop_workflow") == ["shop_workflow__refund"]


def test_names_win_over_the_prefix_and_keep_their_order() -> None:
    assert names(names=["shop__order", "shop__refund", "shop__order"], prefix="none") == ["shop__order", "shop__refund"]


def test_limit_keeps_the_first() -> None:
    assert names(limit=2) == ["shop__refund", "shop__order"]


def test_unknown_name_lists_the_near_ones() -> None:
    with pytest.raises(RegistryError, match=r"unknown scenario 'shop__refnd'\n  did you mean shop__refund"):
        names(names=["shop__refnd"])


def test_unknown_prefix_lists_the_near_ones() -> None:
    with pytest.raises(RegistryError, match=r"begins with 'shopp__'; did you mean shop\?"):
        names(prefix="shopp")


def test_counts_by_prefix() -> None:
    assert count_by_prefix(ALL) == {"shop": 2, "shop_workflow": 1}
