import asyncio

from duologue.records.action import RecordedAction, Side
from duologue.records.event import (
    ActionApplied,
    BotSpeaking,
    CallEnded,
    HeardText,
    SpokenText,
    ToolCalled,
    ToolReturned,
)
from duologue.records.outcome import StopReason
from duologue.talk import feed as feed_module
from duologue.talk.feed import Feed


def test_words_of_both_are_shown_once() -> None:
    heard: list[str] = []
    feed = Feed(Side.USER, heard.append)
    feed.saw(BotSpeaking(side=Side.AGENT, speaking=True))
    feed.saw(SpokenText(side=Side.AGENT, text="Hello "))
    feed.saw(HeardText(side=Side.AGENT, text="Hi.", final=True))
    feed.saw(HeardText(side=Side.AGENT, text="Hi", final=False))
    feed.saw(SpokenText(side=Side.USER, text="Hi. "))
    assert feed.history() == [
        {"type": "speaking", "speaking": True},
        {"type": "said", "who": "other", "text": "Hello "},
        {"type": "said", "who": "you", "text": "Hi."},
    ]
    assert heard == ["Hi."]


def test_other_sides_tools_stay_hidden() -> None:
    feed = Feed(Side.USER)
    action = RecordedAction(action_type="write", name="n", arguments={}, result=None, seq=1)
    for side in Side:
        feed.saw(ToolCalled(side=side, call_id="1", name="n"))
        feed.saw(ActionApplied(side=side, action=action))
        feed.saw(ToolReturned(side=side, call_id="1", name="n", result=1))
    assert [message["type"] for message in feed.history()] == ["tool", "recorded", "result"]


def test_only_the_latest_state_is_kept_and_sent_when_it_changed() -> None:
    feed = Feed(Side.USER)
    reader = feed.subscribe()
    for value in (1, 1, 2):
        feed.state({"coins": value})
    assert feed.history() == [{"type": "state", "state": {"coins": 2}}]
    assert reader.qsize() == 2


def test_time_is_sent_now_and_then_and_not_kept() -> None:
    feed = Feed(Side.USER)
    reader = feed.subscribe()
    for media_ms in range(20, 1001, 20):
        feed.ticked(media_ms)
    assert (reader.qsize(), feed.history()) == (5, [])


def test_page_that_does_not_read_is_let_go(monkeypatch: object) -> None:
    feed = Feed(Side.USER)
    reader = feed.subscribe()
    for _ in range(feed_module.MAX_QUEUED + 2):
        feed.status("talking")
    last = [reader.get_nowait() for _ in range(reader.qsize())][-1]
    assert last is None


async def test_drained_waits_for_the_page() -> None:
    feed = Feed(Side.USER)
    reader = feed.subscribe()
    feed.saw(CallEnded(stop_reason=StopReason.EXIT, media_ms=0))
    waiting = asyncio.create_task(feed.drained())
    await asyncio.sleep(0)
    assert not waiting.done()
    await reader.get()
    reader.task_done()
    await waiting
