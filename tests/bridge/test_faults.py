import asyncio
from pathlib import Path
from typing import Any

import pytest

from duologue.bridge.call import Call, CallSettings
from duologue.clock import SystemClock
from duologue.errors import TraceError
from duologue.records import event as ev
from duologue.records.action import Side
from duologue.records.outcome import Cause, StopReason
from duologue.testing.scripted_bot import BotFaults, BotScript, ScriptedBot, exit_push
from duologue.trace.reader import load_trace
from tests.bridge.counter_shop import shop_scenario
from tests.bridge.stage import Played, hold, open_trace, play

pytestmark = pytest.mark.socket

LONG = BotScript(messages={140: [exit_push()]})


def faults(side: Side, **given: Any) -> dict[str, Any]:
    return {f"{side}_faults": BotFaults(**given)}


def outcome(played: Played) -> tuple[Cause, Side | None, str]:
    ended = played.trace.last(ev.CallEnded)
    assert ended is not None
    return played.fault.cause, played.fault.side, ended.stop_reason.name


@pytest.mark.parametrize("side", list(Side))
async def test_killed_bot_ends_the_call_at_once(tmp_path: Path, side: Side) -> None:
    played = await play(tmp_path, LONG, **faults(side, dies_at_tick=50))
    assert outcome(played) == (Cause.TRANSPORT, side, "BOT_LOST")
    ended = played.trace.last(ev.CallEnded)
    assert ended is not None and ended.media_ms == 1000
    assert len(played.tracks.agent_heard) == 16_000


async def test_survivor_of_a_killed_bot_is_still_pulled(tmp_path: Path) -> None:
    played = await play(tmp_path, LONG, agent_faults=BotFaults(dies_at_tick=10))
    assert [event.side for event in played.trace.of(ev.SummaryPulled)] == [Side.USER]


@pytest.mark.parametrize("side", list(Side))
async def test_bot_that_hangs_mid_call_is_given_up(tmp_path: Path, side: Side) -> None:
    played = await play(tmp_path, LONG, tick_timeout_s=0.3, **faults(side, hangs_at_tick=20))
    assert outcome(played) == (Cause.TRANSPORT, side, "BOT_LOST")
    assert "gave no audio for a tick within 0.3 s" in played.fault.message


@pytest.mark.parametrize("t", ["update_system_prompt", "apply_initialization"])
async def test_silence_in_preparation_is_an_init_fault(tmp_path: Path, t: str) -> None:
    played = await play(tmp_path, user_faults=BotFaults(silent_on=frozenset({t})))
    assert outcome(played) == (Cause.INIT, None, "NOT_STARTED")
    assert f"did not answer {t} within 0.5 s" in played.fault.message and f"(request {t}-" in played.fault.message


async def test_answer_with_another_id_satisfies_no_request(tmp_path: Path) -> None:
    played = await play(tmp_path, agent_faults=BotFaults(wrong_id_on=frozenset({"apply_initialization"})))
    assert outcome(played) == (Cause.INIT, None, "NOT_STARTED")
    assert "unknown answer (id 'another-request-7') dropped" in played.fault.message


async def test_message_of_two_megabytes_breaks_off(tmp_path: Path) -> None:
    played = await play(tmp_path, LONG, agent_faults=BotFaults(large_message_at_tick=10))
    assert outcome(played) == (Cause.TRANSPORT, Side.AGENT, "FAULT")
    assert "larger than 1048576 bytes" in played.fault.message


async def test_refused_prompt_is_an_init_fault(tmp_path: Path) -> None:
    played = await play(tmp_path, agent_faults=BotFaults(refused_on={"update_system_prompt": "no"}))
    assert outcome(played)[0] is Cause.INIT
    assert "the agent bot refused update_system_prompt" in played.fault.message


async def test_failing_initialization_names_every_error(tmp_path: Path) -> None:
    bad = {"side": Side.USER, "func_name": "set_coin"}
    played = await play(tmp_path, scenario=shop_scenario(initialization_actions=(bad,)))
    assert outcome(played)[0] is Cause.INIT
    assert "set_coin" in played.fault.message and "did you mean set_coins" in played.fault.message


async def test_database_that_differs_after_initialization_is_an_init_fault(tmp_path: Path) -> None:
    played = await play(tmp_path, agent_faults=BotFaults(wrong_digest_on=frozenset({"apply_initialization"})))
    assert outcome(played)[0] is Cause.INIT
    assert "do bot and runner use the same checkout" in played.fault.message


@pytest.mark.parametrize(
    ("misreports", "cause", "words"),
    [
        ({"prompt_hash": "0" * 64}, Cause.INIT, "holds another system prompt"),
        ({"prompt_hash": None}, Cause.INIT, "holds another system prompt"),
        ({"tools": []}, Cause.INIT, "tools differ: missing ["),
        ({"tools": ["another"]}, Cause.INIT, "unexpected ['another']"),
        ({"epoch": "an earlier one"}, Cause.INIT, "is in another epoch (an earlier one)"),
        ({"actions": [{"name": "x"}]}, Cause.INIT, "reports 1 writes before the call"),
        ({"digest": "0" * 64}, Cause.SYNC, "differs from its shadow after the first sync"),
        ({"digest": None}, Cause.SYNC, "differs from its shadow after the first sync"),
        ({"tools": "all"}, Cause.INIT, "tools must be a list of names"),
    ],
)
@pytest.mark.parametrize("side", list(Side))
async def test_call_does_not_start_unless_what_is_read_back_is_what_was_set(
    tmp_path: Path, side: Side, misreports: Any, cause: Cause, words: str
) -> None:
    played = await play(tmp_path, **faults(side, misreports=misreports))
    assert outcome(played) == (cause, None, "NOT_STARTED")
    assert f"the {side} bot" in played.fault.message and words in played.fault.message


@pytest.mark.parametrize(
    ("capabilities", "cause", "words"),
    [
        ({"tool_calling": False}, Cause.INIT, "llm.enable_tool_calling: true"),
        ({"transport": "websocket"}, Cause.TRANSPORT, "transport.type: lockstep"),
        ({"audio_in_hz": 8000}, Cause.TRANSPORT, "wants audio_in_hz = 8000"),
    ],
)
async def test_missing_capability_is_named(tmp_path: Path, capabilities: Any, cause: Cause, words: str) -> None:
    played = await play(tmp_path, user=BotScript(capabilities=capabilities))
    assert outcome(played)[0] is cause
    assert words in played.fault.message and "user bot" in played.fault.message


async def test_frame_of_another_length_is_a_transport_fault(tmp_path: Path) -> None:
    played = await play(tmp_path, LONG, BotScript(audio=lambda tick: bytes(400)))
    assert outcome(played) == (Cause.TRANSPORT, Side.USER, "FAULT")
    assert "an audio frame of 200 samples at 16000 Hz; 20 ms are 320 samples" in played.fault.message


async def test_lost_summary_is_a_transport_fault(tmp_path: Path) -> None:
    played = await play(tmp_path, agent_faults=BotFaults(dies_on=frozenset({"get_context_history"})))
    faults = [(fault.cause, fault.fatal) for fault in played.trace.of(ev.Fault)]
    assert faults == [(Cause.TRANSPORT, False), (Cause.TRANSPORT, True)]


async def test_nothing_listens(tmp_path: Path) -> None:
    written = open_trace(tmp_path, shop_scenario())
    settings = CallSettings("ws://127.0.0.1:9", "ws://127.0.0.1:9", 3.0, connect_timeout_s=0.3)
    await hold(Call(shop_scenario(), settings, written, tmp_path, SystemClock()), written, SystemClock())
    (fault,) = load_trace(tmp_path / "trace.jsonl").of(ev.Fault)
    assert fault.cause is Cause.TRANSPORT
    assert "ws://127.0.0.1:9" in fault.message and "start the " in fault.message


async def test_trouble_of_the_listener_is_a_harness_fault(tmp_path: Path) -> None:
    def stumble(media_ms: int) -> None:
        raise KeyError(media_ms)

    played = await play(tmp_path, on_tick=stumble)
    assert outcome(played) == (Cause.HARNESS, None, "FAULT")


async def test_interrupted_call_leaves_readable_files(tmp_path: Path) -> None:
    started = asyncio.Event()
    async with ScriptedBot(BotScript()) as agent, ScriptedBot() as user:
        settings = CallSettings(agent.url, user.url, 600.0)
        open_one = open_trace(tmp_path, shop_scenario(), on_tick=lambda ms: started.set() if ms > 200 else None)
        call = Call(shop_scenario(), settings, open_one, tmp_path, SystemClock())
        task = asyncio.create_task(hold(call, open_one, SystemClock()))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    trace = load_trace(tmp_path / "trace.jsonl")
    ended, written = trace.last(ev.CallEnded), trace.last(ev.RecordingWritten)
    assert ended is not None and ended.stop_reason is StopReason.INTERRUPTED
    assert written is not None and written.samples == ended.media_ms * 16
    with pytest.raises(TraceError):
        open_one.write(ev.RecordingWritten(path="again.wav", sha256="", sample_rate_hz=1, samples=0))
