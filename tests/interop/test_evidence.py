"""Whose word counts: bots that report their own state, bots that lie, and bots whose state is the harness's."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from duologue.records import event as ev
from duologue.records.action import Side
from duologue.records.outcome import Cause, EvidenceSource, OutcomeKind, StopReason
from duologue.state.canonical import digest
from duologue.testing.scripted_bot import BotScript
from tests.interop.foreign_bot import ForeignBot
from tests.interop.shop_bots import shop_bot
from tests.interop.stage import Played, play

pytestmark = [pytest.mark.socket, pytest.mark.slow]

HARNESS = {"tools": "harness"}


async def remarks(bot: ForeignBot) -> None:
    await bot.act("write_remark", {"text": "fragile"})
    await asyncio.sleep(0.1)
    await bot.leave()


def is_caught(played: Played) -> bool:
    outcome = played.result.outcome
    return (outcome.kind, outcome.cause) == (OutcomeKind.NOT_EVALUABLE, Cause.SYNC)


async def test_a_bot_without_any_hash_is_taken_at_its_word_and_marked(tmp_path: Path) -> None:
    hides = {"get_scenario_summary": lambda summary: {**summary, "db_hash": None}}
    result = (await play(tmp_path, shop_bot(remarks, answers=hides))).result
    assert result.evidence == {Side.AGENT: EvidenceSource.SELF_REPORTED, Side.USER: EvidenceSource.DIGEST}


async def test_a_bot_whose_first_hash_is_wrong_does_not_start(tmp_path: Path) -> None:
    lies = {"get_scenario_summary": lambda summary: {**summary, "db_hash": 64 * "0"}}
    played = await play(tmp_path, shop_bot(remarks, answers=lies))
    assert played.fault.cause is Cause.INIT
    assert "is not the hash of the scenario's initial database" in played.fault.message


async def test_a_bot_that_reports_a_write_it_did_not_do_is_caught_by_its_hash(tmp_path: Path) -> None:
    played = await play(tmp_path, ForeignBot(plan=remarks))
    assert is_caught(played)
    assert played.result.evidence[Side.AGENT] is EvidenceSource.CONTRADICTED


async def test_a_bot_that_lies_about_its_digest_is_caught(tmp_path: Path) -> None:
    async def lies(bot: ForeignBot) -> None:
        await bot.act("write_remark", {"text": "fragile"}, digest=64 * "0")
        await asyncio.sleep(1)

    agent = shop_bot(lies)

    def with_digest(result: dict) -> dict:
        return {**result, "digest": 64 * "0" if agent.actions else digest(agent.db)}

    agent.answers = {"apply_initialization": with_digest, "get_scenario_summary": with_digest}
    played = await play(tmp_path, agent)
    assert is_caught(played)
    assert "a full push did not make the agent bot equal to its shadow" in played.fault.message
    assert played.result.evidence[Side.AGENT] is EvidenceSource.CONTRADICTED


async def test_a_bot_that_leaves_a_write_out_of_its_log_is_caught(tmp_path: Path) -> None:
    forgets = {"get_scenario_summary": lambda summary: {**summary, "actions": []}}
    assert is_caught(await play(tmp_path, shop_bot(remarks, answers=forgets)))


async def test_forwarded_calls_run_on_the_database_of_the_harness(tmp_path: Path) -> None:
    async def sells(bot: ForeignBot) -> None:
        assert await bot.forward("a", "request_payment", {}) == {"status": "awaiting"}
        refused = await bot.forward("b", "request_payment", {})
        assert (
            isinstance(refused, dict)
            and refused["error_type"] == "tool_error"
            and "already asked" in refused["message"]
        )
        unknown = await bot.forward("c", "print_money", {})
        assert unknown["available_tools"] == [
            "EndConversationTool",
            "request_payment",
            "write_remark",
        ]
        await asyncio.sleep(0.3)
        await bot.forward("d", "EndConversationTool", {})

    agent = ForeignBot(plan=sells, capabilities=HARNESS)
    payer = BotScript(writes={80: [("pay_bill", {})]})
    played = await play(tmp_path, agent, payer)
    assert [event.message for event in played.trace.of(ev.Fault)] == []
    assert [t for _, t, _ in agent.journal if not t.endswith("answered")] == [
        *("reset", "update_system_prompt"),
        *(4 * ("tool-result",)),
        "get_context_history",
    ]
    final, ended = played.trace.last(ev.FinalState), played.trace.last(ev.CallEnded)
    assert final is not None and final.agent_db is not None and ended is not None
    assert (final.agent_db["order"]["status"], ended.stop_reason) == ("paid", StopReason.EXIT)
    assert played.result.evidence == {Side.AGENT: EvidenceSource.HARNESS, Side.USER: EvidenceSource.DIGEST}
    assert [event.name for event in played.trace.of(ev.ToolReturned) if event.side is Side.AGENT][-1] == (
        "EndConversationTool"
    )


async def test_a_refused_attempt_to_hang_up_does_not_end_the_call(tmp_path: Path) -> None:
    async def is_clumsy(bot: ForeignBot) -> None:
        refused = await bot.forward("a", "EndConversationTool", {"reason": "bored"})
        assert refused["error_type"] == "invalid_arguments"
        await asyncio.sleep(0.3)
        await bot.forward("b", "write_remark", {"text": "still here"})

    played = await play(tmp_path, ForeignBot(plan=is_clumsy, capabilities=HARNESS))
    ended = played.trace.last(ev.CallEnded)
    assert ended is not None and ended.stop_reason is StopReason.TIMEOUT
    assert played.trace.of(ev.ExitRequested) == []
    assert [event.name for event in played.trace.of(ev.ToolReturned)] == ["EndConversationTool", "write_remark"]


async def test_a_bot_that_forwards_is_told_the_schemas_of_its_tools(tmp_path: Path) -> None:
    agent = ForeignBot(plan=ForeignBot.leave, capabilities=HARNESS)
    await play(tmp_path, agent)
    (begun,) = [d for _, t, d in agent.journal if t == "update_system_prompt"]
    schemas = {schema["name"]: schema["parameters"] for schema in begun["tool_schemas"]}
    assert sorted(schemas) == ["EndConversationTool", "request_payment", "write_remark"]
    assert schemas["write_remark"] == {
        "type": "object",
        "properties": {"text": {"type": "string"}},
        "required": ["text"],
    }


async def test_a_forwarded_call_is_run_once_however_often_it_comes(tmp_path: Path) -> None:
    async def stutters(bot: ForeignBot) -> None:
        for _ in range(3):
            await bot.forward("a", "write_remark", {"text": "once"})
        await bot.leave()

    played = await play(tmp_path, ForeignBot(plan=stutters, capabilities=HARNESS))
    assert len(played.trace.of(ev.ActionApplied)) == 1
    assert sum("forwarded again" in note.note for note in played.trace.of(ev.ProtocolNote)) == 2


async def test_a_malformed_forwarded_call_is_a_violation(tmp_path: Path) -> None:
    async def mumbles(bot: ForeignBot) -> None:
        await bot.message("server-message", {"type": "tool-call", "name": "write_remark"})
        await asyncio.sleep(1)

    played = await play(tmp_path, ForeignBot(plan=mumbles, capabilities=HARNESS))
    assert (played.fault.cause, played.fault.error) == (Cause.TRANSPORT, "ProtocolViolation")
