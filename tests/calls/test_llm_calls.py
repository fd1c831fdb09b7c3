"""A model behind HTTP on both sides of a spoken call, played by script."""

import dataclasses
import hashlib
from pathlib import Path

import pytest

from duologue.bots.services import Models
from duologue.records.event import CallEnded, ContextPulled, SpokenText, TokensUsed
from duologue.records.outcome import OutcomeKind, StopReason
from duologue.testing.model_script import ModelReply
from tests.calls.llm_stage import AGENT_KEY, USER_KEY, Played, play

pytestmark = [pytest.mark.socket, pytest.mark.speech]


def digest(played: Played) -> tuple[str, list[dict]]:
    wav = (played.folder / "conversation_log.wav").read_bytes()
    events = [event.model_dump(mode="json", exclude={"wall_ms"}) for event in played.trace.events]
    return hashlib.sha256(wav).hexdigest(), events


async def test_models_on_both_sides_pass_and_repeat_exactly(tmp_path: Path, models: Models) -> None:
    first, second = [await play(tmp_path / name, models) for name in ("first", "second")]
    assert first.result.outcome.kind is OutcomeKind.PASSED, first.result.outcome
    assert first.trace.last(CallEnded).stop_reason is StopReason.EXIT
    assert digest(first) == digest(second)
    for side in ("agent", "user"):
        used = first.of(TokensUsed, side)
        assert len(used) >= 5 and all(event.prompt > 0 for event in used)
        assert first.result.tokens[side].completion == sum(event.completion for event in used)
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
