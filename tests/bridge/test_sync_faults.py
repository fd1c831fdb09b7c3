from pathlib import Path
from typing import Any

import pytest

from duologue.records import event as ev
from duologue.records.action import Side
from duologue.records.outcome import Cause
from duologue.testing.scripted_bot import BotFaults, BotScript, exit_push
from tests.bridge.stage import Played, play

pytestmark = [pytest.mark.socket, pytest.mark.slow]

ASKING = BotScript(writes={2: [("request_payment", {})]}, messages={30: [exit_push()]})
REMARKING = BotScript(writes={2: [("write_remark", {"text": "x"})]}, messages={30: [exit_push()]})
DELTA = frozenset({"apply_sync_delta"})


async def faulty_user(folder: Path, **faults: Any) -> Played:
    return await play(folder, ASKING, user_faults=BotFaults(**faults))


async def test_unacknowledged_delta_is_a_sync_fault(tmp_path: Path) -> None:
    played = await faulty_user(tmp_path, silent_on=DELTA)
    assert played.fault.cause is Cause.SYNC
    assert "did not answer apply_sync_delta" in played.fault.message


async def test_late_acknowledgement_is_a_sync_fault(tmp_path: Path) -> None:
    played = await faulty_user(tmp_path, late_on={"apply_sync_delta": 0.8})
    assert played.fault.cause is Cause.SYNC


async def test_repeated_acknowledgement_is_a_sync_fault(tmp_path: Path) -> None:
    played = await faulty_user(tmp_path, repeated_on=DELTA)
    assert played.fault.cause is Cause.SYNC
    assert "repeated answer to apply_sync_delta" in played.fault.message


async def test_failing_delta_is_a_sync_fault_with_the_bots_reason(tmp_path: Path) -> None:
    played = await faulty_user(tmp_path, refused_on={"apply_sync_delta": "no such wallet"})
    assert played.fault.cause is Cause.SYNC and "no such wallet" in played.fault.message
    (push,) = played.trace.of(ev.DeltaPushed)
    assert not push.success


async def test_delta_that_was_acknowledged_but_lost_is_repaired_once_then_a_sync_fault(tmp_path: Path) -> None:
    played = await faulty_user(tmp_path, lost_on=DELTA)
    checks = [(check.equal, check.repaired) for check in played.trace.of(ev.StateChecked) if check.side is Side.USER]
    assert checks[:3] == [(False, False), (True, True), (False, False)]
    assert played.fault.cause is Cause.SYNC and "again after a full push" in played.fault.message


async def test_wrong_digest_of_a_write_is_repaired_by_one_full_push(tmp_path: Path) -> None:
    played = await play(tmp_path, REMARKING, agent_faults=BotFaults(wrong_digest_on=frozenset({"action-applied"})))
    assert played.trace.of(ev.Fault) == []
    repaired = [check for check in played.trace.of(ev.StateChecked) if check.repaired]
    assert [check.side for check in repaired] == [Side.AGENT]


async def test_second_mismatch_of_a_side_is_a_sync_fault(tmp_path: Path) -> None:
    script = BotScript(writes={2: [("write_remark", {"text": "x"})], 6: [("write_remark", {"text": "y"})]})
    played = await play(tmp_path, script, agent_faults=BotFaults(wrong_digest_on=frozenset({"action-applied"})))
    assert played.fault.cause is Cause.SYNC
    assert played.agent is not None
    last = [d for t, d in played.agent.requests if t == "release_action"][-1]
    assert last["seq"] == 2 and last["success"] is False and "again after a full push" in last["errors"][0]


async def test_gap_in_the_stream_of_writes_is_a_sync_fault(tmp_path: Path) -> None:
    played = await play(tmp_path, REMARKING, agent_faults=BotFaults(skips_seq=True))
    assert played.fault.cause is Cause.SYNC and "1 is missing" in played.fault.message


async def test_write_that_is_pushed_twice_counts_once(tmp_path: Path) -> None:
    played = await play(tmp_path, REMARKING, agent_faults=BotFaults(repeats_push=True))
    assert played.trace.of(ev.Fault) == []
    assert [applied.accepted for applied in played.trace.of(ev.ActionApplied)] == [True, False]


async def test_log_that_lacks_a_write_is_a_sync_fault(tmp_path: Path) -> None:
    played = await play(tmp_path, REMARKING, agent_faults=BotFaults(forgets_last_action=True))
    assert played.fault.cause is Cause.SYNC
    assert "log has 0 writes, 1 were seen live" in played.fault.message


async def test_unreported_change_is_seen_at_the_end_of_the_call(tmp_path: Path) -> None:
    script = BotScript(messages={5: [exit_push()]})
    played = await play(tmp_path, script, agent_faults=BotFaults(drifts_at_tick=3))
    assert played.fault.cause is Cause.SYNC
    assert played.fault.message == "the agent bot's database differs from its shadow at the end of the call"


async def test_unreported_change_of_the_passive_side_is_seen_at_the_next_write(tmp_path: Path) -> None:
    played = await play(tmp_path, REMARKING, user_faults=BotFaults(drifts_at_tick=1))
    checks = [(check.side, check.equal, check.repaired) for check in played.trace.of(ev.StateChecked)]
    assert (Side.USER, False, False) in checks and (Side.USER, True, True) in checks
    assert played.trace.of(ev.Fault) == []


async def test_writes_of_both_sides_in_one_tick_are_both_kept(tmp_path: Path) -> None:
    agent = BotScript(writes={4: [("request_payment", {})]}, messages={20: [exit_push()]})
    played = await play(tmp_path, agent, BotScript(writes={4: [("drop_coins", {})]}))
    assert played.trace.of(ev.Fault) == []
    assert not any(check.repaired for check in played.trace.of(ev.StateChecked))
    final = played.trace.last(ev.FinalState)
    assert final is not None and final.user_db is not None
    assert final.user_db["wallet"] == {"bill": "due", "shop": "Corner", "coins": 4}


async def test_foreign_bots_are_tolerated_and_marked_self_reported(tmp_path: Path) -> None:
    agent = BotScript(writes=ASKING.writes, messages=ASKING.messages, has_extras=False)
    user = BotScript(writes={10: [("pay_bill", {})]}, has_extras=False)
    played = await play(tmp_path, agent, user)
    assert played.trace.of(ev.Fault) == []
    assert [prepared.self_reported for prepared in played.trace.of(ev.Prepared)] == [True, True]
    assert played.trace.of(ev.StateChecked) == []
    final = played.trace.last(ev.FinalState)
    assert final is not None and final.agent_db is not None and final.agent_db["order"]["status"] == "paid"


@pytest.mark.parametrize(
    "context", [[{"role": "user"}], '[{"role": "user"}]', repr('[{"role": "user"}]'), "[{'role': 'user'}]"]
)
async def test_context_is_read_in_every_form_that_bots_send(tmp_path: Path, context: Any) -> None:
    played = await play(tmp_path, BotScript(messages={2: [exit_push()]}, context=context))
    pulled = [event.messages for event in played.trace.of(ev.ContextPulled) if event.side is Side.AGENT]
    assert pulled == [({"role": "user"},)]
