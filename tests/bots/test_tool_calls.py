import ast
import json

import pytest

from duologue.brains.reply import BrainCall, BrainReply
from duologue.toolkit.tool import END_CALL_TOOL
from tests.bots.running_bot import initial_state, last, scenario_start

pytestmark = [pytest.mark.socket, pytest.mark.speech]

SET_TARGET = BrainCall("set_target", {"celsius": 22})


def calls_once(*calls, text="", then="Done."):
    """A brain that makes these calls once, and says a word when it has their results."""

    def decide(messages, tools):
        if not any(message["role"] == "tool" for message in messages):
            return BrainReply(text, calls)
        return BrainReply("" if last(messages, "assistant") == then else then)

    return decide


async def kick_off(client, content="Hello"):
    await client.send("send-text", {"content": content, "options": {"run_immediately": True, "audio_response": True}})


async def release(client, *, epoch="e1", seq=1, success=True, errors=()):
    data = {"epoch": epoch, "seq": seq, "success": success, "errors": list(errors)}
    return await client.ask("release_action", data)


async def context_of(client):
    return json.loads(ast.literal_eval((await client.ask("get_context_history"))["context"]))


async def test_a_write_is_recorded_and_pushed_once_with_the_digest_after_it(start_bot):
    async with start_bot(calls_once(SET_TARGET)).scenario(tools=("set_target",)) as client:
        await kick_off(client)
        await client.until("bot-stopped-speaking")
        summary = await client.ask("get_scenario_summary", {"include_db": True})
    (push,) = client.pushes("action-applied")
    assert push["action"] == {
        "action_type": "write",
        "name": "set_target",
        "arguments": {"celsius": 22},
        "result": {"target_c": 22},
        "seq": 1,
        "epoch": "e1",
    }
    assert (push["tool_domain"], push["digest"]) == ("heating", summary["digest"])
    assert summary["actions"] == [push["action"]]
    assert summary["db"]["target_c"] == 22


async def test_the_bridge_sees_name_arguments_and_result_of_every_call(start_bot):
    async with start_bot(calls_once(BrainCall("check_thermostat", {}))).scenario(tools=("check_thermostat",)) as client:
        await kick_off(client)
        await client.until("llm-function-call-stopped")
    assert client.of("llm-function-call-in-progress") == [
        {"tool_call_id": "call_1", "function_name": "check_thermostat", "arguments": {}}
    ]
    (stopped,) = client.of("llm-function-call-stopped")
    assert stopped["result"] == {"heating": True, "target_c": 21}
    assert client.pushes() == []


async def test_a_result_waits_for_its_release(start_bot):
    async with start_bot(calls_once(SET_TARGET)).scenario(tools=("set_target",), barrier=True) as client:
        await kick_off(client)
        await client.wait(2)
        assert "llm-function-call-stopped" not in client.kinds()
        assert await release(client) is True
        await client.until("bot-stopped-speaking")
    assert client.kinds().count("llm-function-call-stopped") == 1
    assert client.spoken() == "Done. "
    assert client.pushes("bot-error") == []


async def test_without_a_declared_barrier_nothing_is_held(start_bot):
    async with start_bot(calls_once(SET_TARGET)).scenario(tools=("set_target",)) as client:
        await kick_off(client)
        await client.wait(0.2)
    assert "llm-function-call-stopped" in client.kinds()


async def test_an_expired_barrier_delivers_the_result_and_reports_it(start_bot):
    async with start_bot(calls_once(SET_TARGET)).scenario(tools=("set_target",), barrier=True) as client:
        await kick_off(client)
        await client.wait(9.9)
        assert client.pushes("bot-error") == []
        await client.until("bot-stopped-speaking", seconds=3)
    (error,) = client.pushes("bot-error")
    assert error["message"] == (
        "set_target (seq 1): the other side was not brought up to date: not released within 10 s"
    )


async def test_a_failed_release_delivers_the_result_and_reports_it(start_bot):
    async with start_bot(calls_once(SET_TARGET)).scenario(tools=("set_target",), barrier=True) as client:
        await kick_off(client)
        await client.wait(0.2)
        await release(client, success=False, errors=["digests differ"])
        await client.until("bot-stopped-speaking")
    assert "digests differ" in client.pushes("bot-error")[0]["message"]


@pytest.mark.parametrize("epoch", ["e0", None])
async def test_a_release_of_another_epoch_lets_nothing_go(start_bot, epoch):
    async with start_bot(calls_once(SET_TARGET)).scenario(tools=("set_target",), barrier=True) as client:
        await kick_off(client)
        await client.wait(0.2)
        assert await release(client, epoch=epoch) is False
        await client.wait(0.5)
        assert "llm-function-call-stopped" not in client.kinds()
        await release(client)
        await client.until("bot-stopped-speaking")
    assert client.kinds().count("llm-function-call-stopped") == 1


async def test_a_repeated_or_foreign_release_is_harmless(start_bot):
    async with start_bot(calls_once(SET_TARGET)).scenario(tools=("set_target",), barrier=True) as client:
        await kick_off(client)
        await client.wait(0.2)
        assert await release(client, seq=7) is False
        assert "llm-function-call-stopped" not in client.kinds()
        for _ in range(2):
            await release(client)
        await client.until("bot-stopped-speaking")
    assert client.kinds().count("llm-function-call-stopped") == 1


async def test_a_barge_in_at_the_barrier_loses_neither_write_nor_result_and_repeats_nothing(start_bot, caller):
    async with start_bot(calls_once(SET_TARGET)).scenario(tools=("set_target",), barrier=True) as client:
        await kick_off(client)
        await client.wait(0.2)
        await client.play(caller("Are you still there?"))
        await client.wait(1.5)
        await release(client)
        await client.until("bot-stopped-speaking")
        context = await context_of(client)
        summary = await client.ask("get_scenario_summary")
    assert len(client.pushes("action-applied")) == len(summary["actions"]) == 1
    assert client.of("llm-function-call-stopped") == [
        {"tool_call_id": "call_1", "function_name": "set_target", "cancelled": False, "result": {"target_c": 22}}
    ]
    results = [json.loads(message["content"]) for message in context if message["role"] == "tool"]
    assert results == [{"target_c": 22}]
    assert client.spoken() == "Done. "


async def test_writes_of_one_reply_happen_one_after_the_other(start_bot):
    two = (SET_TARGET, BrainCall("set_target", {"celsius": 23}))
    async with start_bot(calls_once(*two)).scenario(tools=("set_target",), barrier=True) as client:
        await kick_off(client)
        await client.wait(0.2)
        assert [push["action"]["seq"] for push in client.pushes("action-applied")] == [1]
        await release(client, seq=1)
        await client.wait(0.2)
        assert [push["action"]["seq"] for push in client.pushes("action-applied")] == [1, 2]
        await release(client, seq=2)
        await client.until("bot-stopped-speaking")
    assert client.spoken() == "Done. "


async def test_an_unknown_tool_gives_one_error_that_lists_the_tools(start_bot):
    bot = start_bot(calls_once(BrainCall("open_window", {})))
    async with bot.scenario(tools=("set_target", "check_thermostat")) as client:
        await kick_off(client)
        await client.until("bot-stopped-speaking")
    (stopped,) = client.of("llm-function-call-stopped")
    assert stopped["result"] == {
        "status": "error",
        "error_type": "unknown_tool",
        "message": "there is no tool 'open_window'",
        "available_tools": ["check_thermostat", "set_target"],
    }
    assert client.pushes() == []


@pytest.mark.parametrize("arguments", [{"celsius": 99}, {"kelvin": 1}])
async def test_a_refused_write_leaves_no_record(start_bot, arguments):
    async with start_bot(calls_once(BrainCall("set_target", arguments))).scenario(tools=("set_target",)) as client:
        await kick_off(client)
        await client.until("bot-stopped-speaking")
        assert (await client.ask("get_scenario_summary"))["actions"] == []
    assert client.of("llm-function-call-stopped")[0]["result"]["error_type"] == "invalid_arguments"
    assert client.pushes("action-applied") == []


async def test_a_crashing_tool_is_reported_and_answered(start_bot):
    crash = BrainCall("check_thermostat", {})
    async with start_bot(calls_once(crash)).scenario(tools=("check_thermostat",)) as client:
        await client.ask("apply_initialization", {"shared_state_init": json.dumps({"db": {"broken": True}})})
        await kick_off(client)
        await client.until("bot-stopped-speaking")
    assert client.pushes("bot-error") == [
        {"type": "bot-error", "message": "tool check_thermostat crashed: KeyError: 'supply_on'"}
    ]
    assert client.of("llm-function-call-stopped")[0]["result"]["error_type"] == "tool_crashed"
    assert client.spoken() == "Done. "


async def test_ending_the_call_pushes_the_exit_after_the_result_and_asks_for_no_more_words(start_bot):
    goodbye = calls_once(BrainCall(END_CALL_TOOL, {}), text="Goodbye.", then="Still here.")
    async with start_bot(goodbye).scenario(tools=(END_CALL_TOOL,)) as client:
        await kick_off(client)
        await client.wait(4)
    kinds = client.kinds()
    exits = [
        index
        for index, (_, message) in enumerate(client.messages)
        if "text" in (message.get("data") or {}) and message["type"] == "server-message"
    ]
    assert [client.messages[index][1]["data"]["text"] for index in exits] == ["<exit>The task is finished.</exit>"]
    assert kinds.index("llm-function-call-stopped") < exits[0]
    assert client.spoken() == "Goodbye. "


async def test_a_refused_attempt_to_hang_up_does_not_end_the_call(start_bot):
    wrong = calls_once(BrainCall(END_CALL_TOOL, {"reason": "bored"}), then="Still here.")
    async with start_bot(wrong).scenario(tools=(END_CALL_TOOL,)) as client:
        await kick_off(client)
        await client.until("bot-stopped-speaking")
    (stopped,) = client.of("llm-function-call-stopped")
    assert stopped["result"]["error_type"] == "invalid_arguments"
    assert client.spoken() == "Still here. "
    assert not any("<exit>" in str(message.get("data")) for _, message in client.messages)


async def test_tools_of_an_earlier_scenario_cannot_run(start_bot):
    async with start_bot(calls_once(SET_TARGET)).scenario(tools=("set_target",)) as client:
        await client.ask("update_system_prompt", scenario_start(tools=("check_thermostat",), epoch="e2"))
        await client.ask("apply_initialization", initial_state("heating/user_db"))
        await kick_off(client)
        await client.until("bot-stopped-speaking")
        summary = await client.ask("get_scenario_summary", {"include_db": True})
    assert client.of("llm-function-call-stopped")[0]["result"]["error_type"] == "unknown_tool"
    assert summary["db"]["target_c"] == 21


async def test_a_new_scenario_drops_a_call_that_waits_at_the_barrier(start_bot):
    async with start_bot(calls_once(SET_TARGET)).scenario(tools=("set_target",), barrier=True) as client:
        await kick_off(client)
        await client.wait(0.2)
        assert await client.ask("update_system_prompt", scenario_start(tools=("set_target",), epoch="e2")) is True
        await client.ask("apply_initialization", initial_state("heating/user_db"))
        await release(client)
        await client.wait(0.5)
        context = await context_of(client)
        summary = await client.ask("get_scenario_summary")
    assert [message["role"] for message in context] == ["system"]
    assert (summary["epoch"], summary["actions"]) == ("e2", [])


async def test_with_tool_calling_disabled_the_brain_sees_no_tools(start_bot):
    seen = []

    def decide(messages, tools):
        seen.append(tools)
        return BrainReply("Hello.")

    bot = start_bot(decide, llm={"enable_tool_calling": False})
    async with bot.client() as client:
        ready = await client.ready()
        await client.ask("update_system_prompt", scenario_start(tools=("set_target",)))
        await kick_off(client)
        await client.until("bot-stopped-speaking")
        assert (await client.ask("get_scenario_summary"))["tools"] == []
    assert ready["data"]["about"]["capabilities"]["tool_calling"] is False
    assert seen == [[]]


async def forwarding(client, *tools):
    """Begin a scenario whose tools the harness runs."""
    await client.ready()
    schemas = [{"name": name, "description": "", "parameters": {"type": "object"}} for name in tools]
    assert await client.ask("update_system_prompt", {**scenario_start(tools=tools), "tool_schemas": schemas}) is True


async def test_a_call_to_a_tool_that_the_harness_runs_is_forwarded_and_its_result_awaited(start_bot):
    async with start_bot(calls_once(SET_TARGET)).client() as client:
        await forwarding(client, "set_target")
        await kick_off(client)
        await client.wait(2)
        (call,) = client.pushes("tool-call")
        assert (call["name"], call["arguments"]) == ("set_target", {"celsius": 22})
        assert "llm-function-call-stopped" not in client.kinds()
        assert await client.ask("tool-result", {"id": "another", "name": "set_target", "result": {}}) is False
        result = {"id": call["id"], "name": "set_target", "result": {"target_c": 22}}
        assert await client.ask("tool-result", result) is True
        await client.until("bot-stopped-speaking")
        summary = await client.ask("get_scenario_summary", {"include_db": True})
        assert await client.ask("tool-result", result) is False
    assert client.of("llm-function-call-stopped")[0]["result"] == {"target_c": 22}
    assert client.spoken() == "Done. "
    assert (client.pushes("action-applied"), summary["actions"], summary["db"]) == ([], [], None)


async def test_a_forwarded_exit_leaves_the_hanging_up_to_the_harness(start_bot):
    goodbye = calls_once(BrainCall(END_CALL_TOOL, {}), text="Goodbye.", then="Still here.")
    async with start_bot(goodbye).client() as client:
        await forwarding(client, END_CALL_TOOL)
        await kick_off(client)
        await client.wait(2)
        (call,) = client.pushes("tool-call")
        result = {"id": call["id"], "name": END_CALL_TOOL, "result": {"success": True}, "ends_call": True}
        assert await client.ask("tool-result", result) is True
        await client.wait(2)
    assert client.spoken() == "Goodbye. "
    assert not [data for _, data in client.messages if "<exit>" in json.dumps(data)]


async def test_a_forwarded_call_that_nobody_answers_is_an_error_for_the_model_and_reported(start_bot):
    async with start_bot(calls_once(SET_TARGET)).client() as client:
        await forwarding(client, "set_target")
        await kick_off(client)
        await client.until("bot-stopped-speaking", seconds=13)
    assert client.of("llm-function-call-stopped")[0]["result"]["error_type"] == "no_result"
    assert client.pushes("bot-error")[0]["message"] == "set_target: the harness gave no result within 10 s"
