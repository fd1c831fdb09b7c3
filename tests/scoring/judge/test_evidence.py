from typing import Any

from duologue.records.event import ContextPulled
from duologue.scoring.evidence import collect_evidence
from duologue.scoring.judge.evidence import build_sections, compact, conversation, has_observations
from duologue.scoring.judge.settings import Compaction
from duologue.testing.builders import TraceBuilder
from duologue.toolkit.evidence import ScoringMode
from tests.scoring.shop import AGENT, USER, shop_scenario

MESSAGES = ({"role": "system", "content": "s" * 30}, *({"role": "user", "content": f"m{n}" * 10} for n in range(5)))


def call() -> TraceBuilder:
    builder = TraceBuilder(shop_scenario(nl_assertions=("The agent is kind.",)))
    builder.say(AGENT, "Hello there.", 0, 500).call_tool(AGENT, "get_price", item="A1").say(USER, "Fine.", 900, 1200)
    return builder.call_tool(USER, "pay").hang_up()


def sections(builder: TraceBuilder, **options: Any) -> dict[str, Any]:
    found = build_sections(collect_evidence(builder.build(), ScoringMode.DUOLOGUE), **options)
    return {section.name: section.value for section in found}


def with_contexts(builder: TraceBuilder) -> TraceBuilder:
    for side in (AGENT, USER):
        builder.add(ContextPulled(side=side, messages=MESSAGES))
    return builder


def test_sections_stand_in_the_order_of_the_contract() -> None:
    assert list(sections(with_contexts(call()), with_conversation=True)) == [
        "reference",
        "prediction",
        "conversation",
        "nl_assertions",
        "agent_context_history",
        "user_context_history",
    ]


def test_actions_say_whose_they_are() -> None:
    found = sections(with_contexts(call()))
    assert [action["side"] for action in found["reference"]["actions"]] == ["agent", "user"]
    assert found["prediction"]["actions"][0]["name"] == "pay"
    assert found["nl_assertions"] == [{"index": 1, "assertion": "The agent is kind."}]


def test_conversation_is_left_out_unless_asked_for_or_a_context_is_missing() -> None:
    assert "conversation" not in sections(with_contexts(call()))
    assert "conversation" in sections(call())


def test_conversation_shows_tool_results() -> None:
    lines = conversation(call().build())
    assert [next(iter(line.keys() - {"at_s", "side", "arguments", "result"})) for line in lines] == [
        "said",
        "called",
        "returned",
        "said",
        "called",
        "returned",
    ]
    assert lines[0]["said"] == "Hello there."
    assert lines[2]["result"] == {"price": 5.0}


def test_compaction_keeps_the_system_message_and_the_last_ones() -> None:
    short = compact(MESSAGES, Compaction(messages=3, system_chars=10, chars=4))
    assert [message["content"] for message in short] == [
        f"{'s' * 10} [20 characters removed]",
        "m3m3 [16 characters removed]",
        "m4m4 [16 characters removed]",
    ]


def test_compaction_to_one_message_keeps_the_system_message_alone() -> None:
    assert compact(MESSAGES, Compaction(messages=1)) == [MESSAGES[0]]


def test_compaction_shortens_nested_lists_from_the_front() -> None:
    message = {"role": "user", "content": [{"text": "a"}, {"text": "b"}, {"text": "c"}]}
    assert compact([message], Compaction(messages=2)) == [{"role": "user", "content": [{"text": "b"}, {"text": "c"}]}]


def test_silent_agent_leaves_nothing_to_judge() -> None:
    builder = TraceBuilder(shop_scenario()).say(USER, "Hello?", 0, 500).hang_up()
    assert not has_observations(builder.build())
    assert has_observations(call().build())
