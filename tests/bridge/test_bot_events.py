from typing import Any

import pytest

from duologue.bridge.bot_events import BotEvents, action_data
from duologue.protocol.messages import InterruptionMark, RtviMessage
from duologue.protocol.requests import Stray, StrayAnswer
from duologue.records import event as ev
from duologue.records.action import Side

AGENT = Side.AGENT


def translate(kind: str, data: Any = None) -> list[ev.Event]:
    return BotEvents(AGENT).translate(RtviMessage(kind, data=data))


@pytest.mark.parametrize(
    ("kind", "data", "event"),
    [
        ("bot-started-speaking", None, ev.BotSpeaking(side=AGENT, speaking=True)),
        ("bot-stopped-speaking", None, ev.BotSpeaking(side=AGENT, speaking=False)),
        ("user-started-speaking", None, ev.UserTurn(side=AGENT, speaking=True)),
        ("user-stopped-speaking", None, ev.UserTurn(side=AGENT, speaking=False)),
        ("bot-interrupted", None, ev.Interrupted(side=AGENT)),
        ("bot-tts-text", {"text": "Hi "}, ev.SpokenText(side=AGENT, text="Hi ")),
        ("user-transcription", {"text": "yes", "final": False}, ev.HeardText(side=AGENT, text="yes", final=False)),
        (
            "error",
            {"error": "x", "fatal": False},
            ev.BotMessage(side=AGENT, kind="error", data={"error": "x", "fatal": False}),
        ),
        ("server-message", {"text": "<exit>Bye.</exit>"}, ev.ExitRequested(side=AGENT, text="Bye.")),
        (
            "server-message",
            {"text": "<final_response>{}</final_response>"},
            ev.BotMessage(side=AGENT, kind="final_response", data="{}"),
        ),
        (
            "server-message",
            {"text": "see <exit>Bye.</exit>"},
            ev.BotMessage(side=AGENT, kind="server-message", data={"text": "see <exit>Bye.</exit>"}),
        ),
        (
            "server-message",
            {"type": "bot-error", "message": "m"},
            ev.BotMessage(side=AGENT, kind="bot-error", data={"type": "bot-error", "message": "m"}),
        ),
    ],
)
def test_message_becomes_its_event(kind: str, data: Any, event: ev.Event) -> None:
    assert translate(kind, data) == [event]


def test_tool_call_keeps_its_name_until_it_returns() -> None:
    events = BotEvents(AGENT)
    call = RtviMessage(
        "llm-function-call-in-progress", data={"tool_call_id": "c", "function_name": "f", "arguments": {"a": 1}}
    )
    done = RtviMessage("llm-function-call-stopped", data={"tool_call_id": "c", "cancelled": False, "result": {"ok": 1}})
    assert events.translate(call) == [ev.ToolCalled(side=AGENT, call_id="c", name="f", arguments={"a": 1})]
    assert events.translate(done) == [ev.ToolReturned(side=AGENT, call_id="c", name="f", result={"ok": 1})]


def test_each_entry_of_token_metrics_is_one_call() -> None:
    tokens = [{"prompt_tokens": 3, "completion_tokens": 4}, {"prompt_tokens": "5", "completion_tokens": None}]
    found = translate("metrics", {"ttfb": [], "tokens": tokens})
    assert found == [ev.TokensUsed(side=AGENT, prompt=3, completion=4), ev.TokensUsed(side=AGENT, prompt=5)]


@pytest.mark.parametrize(
    ("kind", "data"),
    [("bot-tts-text", {"text": 5}), ("bot-tts-text", "x"), ("metrics", {"tokens": [{"prompt_tokens": -1}]}),
     ("metrics", {"tokens": [{"prompt_tokens": 10**4000}]}),
     ("llm-function-call-in-progress", {}), ("llm-function-call-in-progress", {"tool_call_id": "1", "arguments": [1]})],
)  # fmt: skip
def test_malformed_message_becomes_a_note(kind: str, data: Any) -> None:
    (note,) = translate(kind, data)
    assert isinstance(note, ev.ProtocolNote) and f"malformed {kind}" in note.note


def test_unknown_and_ignored_messages_leave_no_event() -> None:
    assert translate("bot-llm-text", {"text": "x"}) == translate("never-heard-of") == []


def test_interruption_frame_and_stray_answer_are_events() -> None:
    events = BotEvents(AGENT)
    assert events.translate(InterruptionMark()) == [ev.Interrupted(side=AGENT)]
    (note,) = events.translate(StrayAnswer(Stray.LATE, "reset-1", "reset"))
    assert isinstance(note, ev.ProtocolNote) and note.note == "late answer to reset (id 'reset-1') dropped"


def test_only_action_applied_is_a_write() -> None:
    assert action_data(RtviMessage("server-message", data={"type": "action-applied", "action": {}})) is not None
    assert action_data(RtviMessage("server-message", data={"type": "bot-error"})) is None
    assert action_data(InterruptionMark()) is None
