"""A model behind HTTP on both sides of a spoken call, played by script."""

import dataclasses
import hashlib
from pathlib import Path

import pytest

from duologue.bots.services import Models
from duologue.records.action import Side
from duologue.records.event import CallEnded, ContextPulled, SpokenText, TokensUsed
from duologue.records.outcome import Cause, OutcomeKind, StopReason
from duologue.records.scenario import SignalName
from duologue.testing.model_script import ModelCall, ModelReply
from duologue.toolkit.tool import END_CALL_TOOL
from tests.calls.llm_stage import AGENT_KEY, USER_KEY, Played, play
from tests.present import present

pytestmark = [pytest.mark.socket, pytest.mark.speech]


def digest(played: Played) -> tuple[str, list[dict]]:
    wav = (played.folder / "conversation_log.wav").read_bytes()
    events = [event.model_dump(mode="json", exclude={"wall_ms"}) for event in played.trace.events]
    return hashlib.sha256(wav).hexdigest(), events


async def test_models_on_both_sides_pass_and_repeat_exactly(tmp_path: Path, models: Models) -> None:
    first, second = [await play(tmp_path / name, models) for name in ("first", "second")]
    assert first.result.outcome.kind is OutcomeKind.PASSED, first.result.outcome
    assert present(first.trace.last(CallEnded)).stop_reason is StopReason.EXIT
    assert digest(first) == digest(second)
    for side in ("agent", "user"):
        used = first.of(TokensUsed, side)
        assert len(used) >= 5 and all(event.prompt > 0 for event in used)
        assert first.result.tokens[Side(side)].completion == sum(event.completion for event in used)
    for path in first.folder.rglob("*"):
        content = path.read_bytes() if path.is_file() else b""
        assert AGENT_KEY.encode() not in content and USER_KEY.encode() not in content, path


def decorated(reply: ModelReply) -> ModelReply:
    """What a chatty model makes of a sentence."""
    text = f"<think>**What** now? 🤔</think>- **{reply.text}** 😀\n" if reply.text else ""
    return dataclasses.replace(reply, text=text, reasoning="Let me think.")


async def test_models_that_think_aloud_in_markdown_pass_too(tmp_path: Path, models: Models) -> None:
    played = await play(tmp_path, models, retell=decorated)
    assert played.result.outcome.kind is OutcomeKind.PASSED, played.result.outcome
    said = "".join(event.text for event in played.trace.of(SpokenText))
    contexts = [message for event in played.trace.of(ContextPulled) for message in event.messages]
    kept = " ".join(message.get("content") or "" for message in contexts if message["role"] == "assistant")
    assert "airplane mode" in kept
    for mark in ("think", "**", "😀", "🤔"):
        assert mark not in said and mark not in kept


def hanging_up(reply: ModelReply) -> ModelReply:
    """What a caller does who states the problem and has had enough."""
    if "no service" not in reply.text:
        return reply
    return dataclasses.replace(reply, calls=(ModelCall(END_CALL_TOOL, "{}", "call_bye"),))


async def test_caller_who_hangs_up_ends_the_call(tmp_path: Path, models: Models) -> None:
    played = await play(tmp_path, models, retell=hanging_up)
    ended = played.trace.last(CallEnded)
    assert ended is not None and ended.stop_reason is StopReason.CALLER_DONE and ended.media_ms < 20_000
    assert "no service" in "".join(event.text for event in played.of(SpokenText, "user"))
    assert present(played.result.verdict(SignalName.CLEAN_EXIT)).passed
    outcome = played.result.outcome
    assert (outcome.kind, outcome.cause) == (OutcomeKind.NOT_EVALUABLE, Cause.USER_SIM)
