import ast
import hashlib
import json

import pytest

from duologue.state.canonical import contract_hash, digest
from tests.bots.running_bot import initial_state, scenario_start

pytestmark = [pytest.mark.socket, pytest.mark.speech]

DB = {"accounts": {"H7": {"name": "Ada Brown", "phone": "555-010-7000", "supply_on": True}}}
CUT = {"func_name": "cut_supply", "arguments": {"account_id": "H7"}}


async def test_the_handshake_says_what_the_bot_is(start_bot):
    async with start_bot().client() as client:
        ready = await client.ready()
    assert ready["type"] == "bot-ready"
    assert ready["data"]["version"] == "1.1.0"
    assert ready["data"]["about"]["capabilities"] == {
        "transport": "lockstep",
        "frame_ms": 20,
        "audio_in_hz": 16000,
        "audio_out_hz": 16000,
        "tool_calling": True,
        "barrier": True,
        "forwards_tools": True,
        "world_events": True,
        "brain": "reference",
        "stt": "whisper:bundled",
        "plan": True,
        "max_tick_s": 0.0,
        "preflight": True,
        "ends_call": True,
    }


async def test_a_summary_describes_the_prepared_scenario(start_bot):
    async with start_bot().scenario(tools=("restore_supply", "find_account")) as client:
        summary = await client.ask("get_scenario_summary", {"include_db": True})
    assert summary.pop("prompt_hash") == hashlib.sha256(b"You are a test.").hexdigest()
    assert summary == {
        "actions": [],
        "db_hash": contract_hash(DB),
        "digest": digest(DB),
        "epoch": "e1",
        "tools": ["find_account", "restore_supply"],
        "profile": "default",
        "db": DB,
    }


async def test_an_empty_summary_has_null_hashes(start_bot):
    async with start_bot().client() as client:
        await client.ready()
        summary = await client.ask("get_scenario_summary")
    assert (summary["db_hash"], summary["digest"], summary["actions"]) == (None, None, [])
    assert "db" not in summary


async def test_initialization_runs_its_actions(start_bot):
    async with start_bot().scenario(tools=("restore_supply",)) as client:
        result = await client.ask("apply_initialization", initial_state("heating/db", CUT))
        summary = await client.ask("get_scenario_summary", {"include_db": True})
    assert result == {"success": True, "errors": [], "digest": summary["digest"]}
    assert summary["db"]["accounts"]["H7"]["supply_on"] is False


async def test_a_failing_initialization_changes_nothing_and_names_every_failure(start_bot):
    bad = {"func_name": "cut_supply", "arguments": {"account_id": "H8"}}
    async with start_bot().scenario(tools=("restore_supply",)) as client:
        request = initial_state("heating/db", CUT, bad, {"func_name": "cut_suply"})
        result = await client.ask("apply_initialization", request)
    assert result["success"] is False
    assert result["digest"] == digest(DB)
    assert result["errors"] == [
        "cut_supply: ToolError: no account 'H8'",
        "cut_suply: RegistryError: domain 'heating' has no initialization function 'cut_suply'; "
        "did you mean cut_supply?",
    ]


@pytest.mark.parametrize(
    ("request_data", "error"),
    [
        ({"shared_state_init": "{"}, "shared_state_init is not JSON"),
        ({"shared_state_init": "[]"}, "shared_state_init must be an object"),
        ({"actions": "cut_supply"}, "actions must be a list"),
        ({"actions": [CUT]}, "there is no database"),
        ({"shared_state_init": json.dumps({"db_path": "../secret"})}, "stay under the data root"),
        ({"domain": "nowhere"}, "unknown domain 'nowhere'"),
    ],
)
async def test_a_malformed_initialization_is_answered_with_its_reason(start_bot, request_data, error):
    async with start_bot().client() as client:
        await client.ready()
        await client.ask("update_system_prompt", scenario_start())
        result = await client.ask("apply_initialization", {"domain": "heating", **request_data})
    assert result["success"] is False
    assert error in result["errors"][0]


async def test_an_unknown_tool_refuses_the_prompt_and_leaves_the_scenario_alone(start_bot):
    async with start_bot().scenario(tools=("find_account",)) as client:
        before = await client.ask("get_scenario_summary", {"include_db": True})
        assert await client.ask("update_system_prompt", scenario_start(tools=("find_acount",), epoch="e2")) is False
        after = await client.ask("get_scenario_summary", {"include_db": True})
    assert after == before
    assert "did you mean find_account?" in client.pushes("bot-error")[0]["message"]


@pytest.mark.parametrize("prompt", [None, "", 7])
async def test_a_missing_prompt_is_refused(start_bot, prompt):
    async with start_bot().client() as client:
        await client.ready()
        assert await client.ask("update_system_prompt", {"prompt": prompt}) is False
        message = client.pushes("bot-error")[0]["message"]  # there before the answer
    assert "prompt is missing" in message if prompt is None else "prompt must be a text" in message


async def test_a_new_prompt_clears_state_log_context_and_tools(start_bot):
    async with start_bot().scenario(tools=("find_account",)) as client:
        await client.send("send-text", {"content": "secret", "options": {"run_immediately": False}})
        assert await client.ask("update_system_prompt", scenario_start(tools=("restore_supply",), epoch="e2")) is True
        summary = await client.ask("get_scenario_summary", {"include_db": True})
        context = await client.ask("get_context_history")
    assert (summary["db"], summary["epoch"], summary["tools"]) == (None, "e2", ["restore_supply"])
    assert json.loads(ast.literal_eval(context["context"])) == [{"role": "system", "content": "You are a test."}]


async def test_a_reset_keeps_state_and_prompt_and_drops_what_was_said(start_bot):
    async with start_bot().scenario(tools=("find_account",)) as client:
        await client.send("send-text", {"content": "Hello", "options": {"run_immediately": False}})
        before = json.loads(ast.literal_eval((await client.ask("get_context_history"))["context"]))
        assert await client.ask("reset") is True
        after = json.loads(ast.literal_eval((await client.ask("get_context_history"))["context"]))
        summary = await client.ask("get_scenario_summary")
    assert [message["role"] for message in before] == ["system", "user"]
    assert [message["role"] for message in after] == ["system"]
    assert summary["digest"] == digest(DB)


async def test_a_delta_is_applied_through_the_domain_and_answered_with_the_digest(start_bot):
    async with start_bot().scenario(tools=("check_thermostat", "set_target")) as client:
        result = await client.ask(
            "apply_sync_delta", {"domain": "heating", "epoch": "e1", "delta": {"supply_on": False}}
        )
        summary = await client.ask("get_scenario_summary", {"include_db": True})
    assert result == {"success": True, "errors": [], "digest": summary["digest"]}
    assert summary["db"]["supply_on"] is False


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ({"delta": {"nowhere": 1}}, "no 'nowhere'"),
        ({"delta": [1]}, "delta must be an object"),
        ({"delta": {"supply_on": False}, "epoch": "e0"}, "epoch 'e0'"),
    ],
)
async def test_a_delta_that_does_not_fit_is_a_failure(start_bot, data, error):
    async with start_bot().scenario(tools=("check_thermostat", "set_target")) as client:
        before = (await client.ask("get_scenario_summary"))["digest"]
        result = await client.ask("apply_sync_delta", {"domain": "heating", **data})
    assert result["success"] is False
    assert error in result["errors"][0]
    assert result["digest"] == before


async def test_an_unknown_message_is_an_error_response(start_bot):
    async with start_bot().client() as client:
        await client.ready()
        answer = await client.answer_to(await client.send("client-message", {"t": "open_door", "d": {}}))
    assert answer["type"] == "error-response"
    assert answer["data"]["error"] == "unknown message type: open_door"


async def test_a_failing_handler_is_an_error_response_with_its_class(start_bot):
    async with start_bot().client() as client:
        await client.ready()
        answer = await client.answer_to(await client.send("client-message", {"t": "release_action", "d": {}}))
    assert answer["type"] == "error-response"
    assert answer["data"]["error"].startswith("MalformedRequest: release_action: seq is missing")


async def test_messages_sent_back_to_back_are_answered_in_order(start_bot):
    async with start_bot().client() as client:
        await client.ready()
        wanted = [await client.send("client-message", {"t": "reset"})]
        wanted.append(await client.send("client-message", {"t": "update_system_prompt", "d": scenario_start()}))
        wanted.append(
            await client.send("client-message", {"t": "apply_initialization", "d": initial_state("heating/db")})
        )
        wanted.append(await client.send("client-message", {"t": "get_scenario_summary"}))
        await client.answer_to(wanted[-1])
    answered = [message["id"] for _, message in client.messages if message["type"] == "server-response"]
    assert answered == wanted


async def test_an_answer_that_the_wire_cannot_carry_is_an_error_response(start_bot):
    async with start_bot().scenario(tools=("find_account",)) as client:
        await client.ask("apply_initialization", {"shared_state_init": json.dumps({"db": {"a": "", "b": ""}})})
        for key in ("a", "b"):
            await client.ask("apply_sync_delta", {"delta": {key: "x" * 600_000}})
        answer = await client.answer_to(
            await client.send("client-message", {"t": "get_scenario_summary", "d": {"include_db": True}})
        )
    assert answer["type"] == "error-response"
    assert "the wire takes 1048576" in answer["data"]["error"]
