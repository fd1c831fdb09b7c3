import json

import pytest

from duologue.brains.brain import build_brain

PLAN = [{"side": "agent", "name": "a", "arguments": {"x": 1}}, {"side": "agent", "name": "b", "arguments": {}}]


def brain(kind: str = "reference", **facts):
    payload = {"domain": "nowhere", "plan": PLAN, "facts": {"caller": "recording", "user_turns": 1, **facts}}
    return build_brain(kind, payload, {})


def user(text: str) -> dict:
    return {"role": "user", "content": text}


def said(text: str) -> dict:
    return {"role": "assistant", "content": text}


def called(*names: str, answered: bool = True) -> list[dict]:
    wanted = [
        {"id": name, "function": {"name": name, "arguments": json.dumps({"x": 1} if name == "a" else {})}}
        for name in names
    ]
    results = [{"role": "tool", "tool_call_id": name, "content": '{"ok": true}'} for name in names]
    return [{"role": "assistant", "content": "", "tool_calls": wanted}, *(results if answered else [])]


def decide(agent, *messages) -> tuple[str, list[str]]:
    reply = agent.decide([{"role": "system", "content": "p"}, *messages], ["a", "b", "EndConversationTool"])
    return reply.text, [call.name for call in reply.calls]


def test_the_reference_calls_all_at_once_after_the_caller_was_heard():
    assert decide(brain(), user("Do it.")) == ("", ["a", "b"])
    assert decide(brain(), user("Do it."), *called("a", "b")) == ("All done.", [])


def test_one_by_one_each_call_waits_for_the_result_before():
    agent = brain(one_by_one=True)
    assert decide(agent, user("Go.")) == ("", ["a"])
    assert decide(agent, user("Go."), *called("a", answered=False)) == ("", [])
    assert decide(agent, user("Go."), *called("a")) == ("", ["b"])


def test_a_dialogue_is_heard_out_before_the_calls():
    agent = brain(user_turns=2)
    assert decide(agent, user("Start.")) == ("Okay, please go on.", [])
    assert decide(agent, user("Start."), said("Okay, please go on."), user("More.")) == ("", ["a", "b"])


def test_a_refusal_is_said_and_nothing_is_called():
    assert decide(brain(refusal="I cannot do that."), user("Break in.")) == ("I cannot do that.", [])


@pytest.mark.parametrize("kind", ["reference", "every_tool"])
def test_the_kick_off_is_greeted_and_not_taken_for_the_caller(kind: str):
    assert decide(brain(kind), user("Hello")) == ("Hello, I am listening.", [])
    assert decide(brain(kind)) == ("", [])


def test_silence_stays_silent():
    assert decide(brain("silent"), user("Do it.")) == ("", [])


def test_every_tool_is_called_once_but_the_end_of_the_call():
    assert decide(brain("every_tool"), user("Do it.")) == ("", ["a", "b"])
    assert decide(brain("every_tool"), user("Do it."), *called("a", "b")) == ("All done.", [])
