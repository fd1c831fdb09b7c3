import io

from rich.console import Console

from duologue.cli.listing import print_domains, print_names
from duologue.records.scenario import Scenario, SideSpec, SignalName


def scenario(name: str) -> Scenario:
    side = SideSpec(prompt="Say hello.")
    return Scenario(
        name=name, domain="shop", task_id=name, user=side, agent=side, success_signals=(SignalName.CLEAN_EXIT,)
    )


def test_names_are_printed_whole_one_a_line() -> None:
    out = io.StringIO()
    name = "shop__" + "very_long_" * 20 + "[bold]"
    print_names(Console(file=out, width=40), [scenario(name), scenario("shop__b")])
    assert out.getvalue() == f"{name}\nshop__b\n"


def test_domains_are_printed_with_their_counts() -> None:
    out = io.StringIO()
    print_domains(Console(file=out), [scenario("shop_b__x"), scenario("shop__x"), scenario("shop__y")])
    assert out.getvalue() == "shop 2\nshop_b 1\n"


def test_names_from_a_copy_of_somebody_else_stay_on_their_line() -> None:
    out = io.StringIO()
    print_names(Console(file=out), [scenario("shop__a\nshop__b\x1b[2J")])
    assert out.getvalue() == "shop__a shop__b\\x1b[2J\n"
