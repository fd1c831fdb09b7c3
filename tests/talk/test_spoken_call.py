"""A caller who speaks and presses buttons, against the agent bot over real speech, as fast as the machine can."""

from __future__ import annotations

from pathlib import Path

import pytest

from duologue.clock import SystemClock
from duologue.config import TtsConfig
from duologue.protocol.messages import TICK_SAMPLES
from duologue.records.action import Side
from duologue.records.event import ActionApplied, BotSpeaking, Event, SpokenText, ToolReturned
from duologue.records.outcome import OutcomeKind
from duologue.runner.attempt import AttemptRunner
from duologue.runner.batch import Batch
from duologue.runner.bot_calls import BotCalls
from duologue.runner.build import build_scenarios
from duologue.runner.launch import launched_bots
from duologue.runner.observer import SilentObserver
from duologue.runner.settings import LaunchSettings, RunSettings, Selection
from duologue.speech.hibari import HibariVoice
from duologue.talk.desk import Desk
from duologue.trace.reader import load_trace
from tests.talk.stage import connected_line

SCENARIO = "tau2_telecom__service_issue__airplane_mode_on__unseat_sim_card"
TICK_BYTES = 2 * TICK_SAMPLES
ANSWERS = {
    "help you today": "My phone has no service.",
    "phone number": "Five five five. One two three. Two zero zero two.",
    "anything else": "No, that is all. Thank you. Goodbye.",
}
DEEDS = {"airplane": "toggle_airplane_mode", "SIM card": "reseat_sim_card", "status bar": "check_status_bar"}


class Caller(SilentObserver):
    """Answers what is asked, does what is requested, reads out what the phone then says, and repeats it if need be."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._voice = HibariVoice(TtsConfig(pitch=0.8), 16_000)
        self._heard = ""
        self._sound = b""
        self._last = ""

    def event_written(self, event: Event) -> None:
        self._desk.feed.saw(event)
        match event:
            case SpokenText(side=Side.AGENT, text=text):
                self._heard += text
            case BotSpeaking(side=Side.AGENT, speaking=False):
                self._react(self._heard)
                self._heard = ""
            case ToolReturned(side=Side.USER, result={"message": text}):
                self._say(text.split(". ")[0])

    def ticked(self, media_ms: int) -> None:
        tick, self._sound = self._sound[:TICK_BYTES], self._sound[TICK_BYTES:]
        self._desk.line.microphone.put(tick.ljust(TICK_BYTES, b"\0"))

    def _react(self, request: str) -> None:
        for words, answer in ANSWERS.items():
            if words in request:
                self._say(answer)
        for words, tool in DEEDS.items():
            if words in request:
                self._desk.person.press(tool, {})

        if "repeat" in request:
            self._say(self._last)

    def _say(self, text: str) -> None:
        self._last = text
        pause = bytes(TICK_BYTES * 25)
        self._sound = pause + b"".join(word.audio for word in self._voice.speak(text))


@pytest.mark.socket
@pytest.mark.speech
async def test_caller_in_person_gets_the_problem_solved(tmp_path: Path) -> None:
    (scenario,) = build_scenarios(Selection(names=(SCENARIO,)))
    scenario = scenario.model_copy(update={"max_duration_s": 180.0})
    batch, desk = Batch.plan([scenario], tmp_path), Desk(scenario, Side.USER, connected_line())
    configs = LaunchSettings(Path("server_configs/agent.yaml"), Path("server_configs/user.yaml"))
    async with launched_bots(configs, tmp_path, sides=[Side.AGENT]) as bots:
        settings, clock = RunSettings(agent_url=bots.bots[Side.AGENT].url), SystemClock()
        calls = BotCalls(settings, clock, peers={Side.USER: desk.person})
        await batch.run(AttemptRunner(settings, clock, Caller(desk), calls))
    (result,) = batch.results
    assert (result.outcome.kind, result.outcome.detail) == (OutcomeKind.PASSED, "")
    own = [turn.text for turn in result.conversation.turns if turn.side is Side.USER]
    assert any("service" in text for text in own)
    trace = load_trace(batch.attempts[0].folder / "trace.jsonl")
    presses = [event.action.name for event in trace.of(ActionApplied) if event.side is Side.USER]
    assert presses == ["toggle_airplane_mode", "reseat_sim_card"]
