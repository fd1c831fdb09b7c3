import asyncio
import json

import pytest

from duologue.clock import SystemClock
from duologue.errors import TurnAgentError
from duologue.records.event import TokensUsed, ToolCalled, ToolReturned
from duologue.turn_agents.loop import MAX_TOOL_TURNS, Dispatch, TurnLoop
from duologue.turn_agents.turn import AudioMessageTurn, MessageTurn

CALL = {"id": "c1", "name": "set_alarm", "arguments": {"time": "06:45"}}
MANIFEST = [{"name": "set_alarm", "parameters": {"type": "dict"}}]


class Scripted:
    """Answers with the given turns, one after the other, and keeps what it was given."""

    def __init__(self, *turns):
        self.turns = list(turns)
        self.seen = []

    async def __call__(self, history, tool_manifest):
        self.seen.append((history, tool_manifest))
        return self.turns.pop(0)


def start(agent, **options):
    events: list[object] = []
    return TurnLoop(agent, MANIFEST, SystemClock(), events.append, **options), events


def said(text, *calls, **values):
    return MessageTurn("assistant", text, tool_calls=list(calls) or None, **values)


async def test_results_go_back_until_the_agent_answers_without_calls():
    agent = Scripted(said("One moment.", CALL), said("Done."))
    loop, events = start(agent)
    reply = await loop.answer("Wake me.", b"sound")
    assert (reply.text, reply.tool_turns) == ("Done.", 1)
    assert [turn.role for turn in loop.history] == ["user", "assistant", "tool", "assistant"]
    assert [type(event) for event in events] == [ToolCalled, ToolReturned]
    assert events[1].result == {"ok": True, "tool": "set_alarm", "args": {"time": "06:45"}}


async def test_the_tool_turn_carries_name_id_and_the_constant_envelope():
    loop, _ = start(Scripted(said("", CALL), said("Done.")))
    await loop.answer("Wake me.")
    turn = loop.history[2]
    assert (turn.name, turn.tool_call_id) == ("set_alarm", "c1")
    assert json.loads(turn.content) == {"ok": True, "tool": "set_alarm", "args": {"time": "06:45"}}


async def test_user_turns_carry_text_and_sound_and_the_manifest_is_handed_over_unchanged():
    agent = Scripted(said("Hello."))
    loop, _ = start(agent)
    await loop.answer("Hi.", b"sound")
    history, manifest = agent.seen[0]
    assert history == [AudioMessageTurn("user", "Hi.", audio_input=b"sound")]
    assert manifest is MANIFEST


async def test_calls_end_after_eight_turns_without_a_reply():
    agent = Scripted(*[said("more", CALL) for _ in range(20)])
    loop, events = start(agent)
    reply = await loop.answer("Wake me.")
    assert (reply.text, reply.tool_turns, len(agent.seen)) == (None, MAX_TOOL_TURNS, 8)
    assert sum(isinstance(event, ToolCalled) for event in events) == 8


async def test_the_cap_counts_for_each_user_turn_anew():
    agent = Scripted(*[said("", CALL) for _ in range(16)])
    loop, _ = start(agent)
    await loop.answer("One.")
    assert (await loop.answer("Two.")).tool_turns == 8


async def test_dispatch_once_ends_with_the_first_calls_and_their_text():
    agent = Scripted(said("Setting it.", CALL), said("never asked"))
    loop, _ = start(agent, dispatch=Dispatch.ONCE)
    reply = await loop.answer("Wake me.")
    assert (reply.text, reply.tool_turns, len(agent.seen)) == ("Setting it.", 1, 1)


async def test_reported_tokens_and_cost_are_kept_and_unreported_ones_are_no_zero():
    agent = Scripted(said("", CALL, input_tokens=7, output_tokens=2, cost_usd=0.5), said("Done.", cost_usd=0.25))
    loop, events = start(agent)
    reply = await loop.answer("Wake me.")
    assert [(event.prompt, event.completion) for event in events if isinstance(event, TokensUsed)] == [(7, 2)]
    assert reply.cost_usd == 0.75
    silent, _ = start(Scripted(said("Hello.")))
    assert (await silent.answer("Hi.")).cost_usd is None


async def test_an_agent_that_changes_its_history_changes_only_its_copy():
    async def clears(history, tool_manifest):
        history.clear()
        return said("Hello.")

    loop, _ = start(clears)
    await loop.answer("Hi.")
    assert [turn.role for turn in loop.history] == ["user", "assistant"]


async def test_something_else_than_a_turn_is_named():
    async def wrong(history, tool_manifest):
        return {"role": "assistant"}

    with pytest.raises(TurnAgentError, match="returned dict, not a MessageTurn"):
        await start(wrong)[0].answer("Hi.")


async def test_an_agent_that_is_not_asynchronous_is_named():
    with pytest.raises(TurnAgentError, match="not asynchronous"):
        await start(lambda history, tool_manifest: said("Hello."))[0].answer("Hi.")


async def test_a_slow_agent_is_given_up():
    async def slow(history, tool_manifest):
        await asyncio.Event().wait()

    with pytest.raises(TurnAgentError, match=r"no turn within 0\.01 s"):
        await start(slow, timeout_s=0.01)[0].answer("Hi.")


async def test_the_stored_history_holds_no_sound():
    loop, _ = start(Scripted(AudioMessageTurn("assistant", "Hello.", audio_output=b"sound")))
    await loop.answer("Hi.", b"sound")
    assert loop.messages() == ({"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."})
