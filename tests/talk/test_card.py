import json

from duologue.records.action import ReferenceAction, Side
from duologue.records.scenario import Instructions, Persona, Resources, SideSpec, Task
from duologue.talk.card import readable, role_card, tool_cards
from duologue.toolkit.prompt import render_prompt
from duologue.toolkit.vocabulary import PLAIN, Vocabulary
from tests.bridge.counter_shop import shop_scenario


def buyer() -> SideSpec:
    parts = (
        Persona(name="Ann", role="Buyer"),
        Task(goal="Pay the bill."),
        Instructions(instructions=("Ask.",), guidelines=("Be brief.",)),
        Resources(tools={"pay_bill": {}}, information=("You have 5 coins.",)),
    )
    persona, task, actions, resources = parts
    return SideSpec(prompt=render_prompt(*parts), persona=persona, task=task, actions=actions, resources=resources)


def test_caller_gets_a_card_of_their_own_part() -> None:
    card = role_card(shop_scenario(user=buyer()), Side.USER)
    assert card["title"] == "Buyer"
    assert [(section["title"], section["items"], section["is_open"]) for section in card["sections"]] == [
        ("Who you are", ["Name: Ann"], True),
        ("Why you are here", ["Pay the bill."], True),
        ("What you know", ["You have 5 coins."], True),
        ("How the call goes", ["Ask."], False),
        ("Rules", ["Be brief."], False),
    ]


def test_side_with_a_prompt_of_its_own_gets_that_as_brief() -> None:
    card = role_card(shop_scenario(), Side.AGENT)
    assert card["sections"] == [{"title": "Your brief", "kind": "text", "items": ["You sell."], "is_open": True}]


def test_plan_and_other_side_are_never_shown() -> None:
    plan = (ReferenceAction(action_id="a", side=Side.AGENT, name="secret_step", arguments={}),)
    scenario = shop_scenario(user=buyer(), reference_actions=plan)
    shown = json.dumps([role_card(scenario, Side.AGENT), tool_cards(scenario, Side.AGENT)])
    assert "secret_step" not in shown
    assert "Pay the bill" not in shown
    assert "pay_bill" not in shown


def test_tools_carry_their_schema_and_what_ends_the_call() -> None:
    cards = {card["name"]: card for card in tool_cards(shop_scenario(), Side.AGENT)}
    assert cards["write_remark"]["parameters"] == {
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
    }
    assert [name for name, card in cards.items() if card["ends_call"]] == ["EndConversationTool"]


def test_names_of_code_become_words() -> None:
    names = ("toggle_airplane_mode", "EndConversationTool", "check_sim_status", "toggle_wifi", "x")
    words = Vocabulary(labels={"sim": "SIM", "wifi": "Wi-Fi"})
    assert [readable(name, words) for name in names] == [
        "Toggle airplane mode",
        "End conversation",
        "Check SIM status",
        "Toggle Wi-Fi",
        "X",
    ]


def test_a_domain_without_labels_has_its_words_in_lower_case() -> None:
    assert [readable(name, PLAIN) for name in ("check_sim", "find_by_id")] == ["Check sim", "Find by ID"]
