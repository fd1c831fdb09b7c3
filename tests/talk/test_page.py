"""The page in a real browser with a fake microphone; ``make test-browser`` brings what it needs."""

from __future__ import annotations

import asyncio
import contextlib
import re
import shutil
import sys
import wave
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from duologue.audio.pcm import level_dbfs
from duologue.audio.recording import read_recording
from duologue.clock import SystemClock
from duologue.config import TtsConfig
from duologue.records.action import Side
from duologue.records.event import ActionApplied, CallEnded, CallStarted, HeardText, StateChecked
from duologue.records.outcome import StopReason
from duologue.registry import load_domain
from duologue.runner.build import build_scenarios
from duologue.runner.settings import Selection
from duologue.speech.hibari import HibariVoice
from duologue.talk.desk import Desk
from duologue.talk.server import TalkServer
from duologue.testing.scripted_bot import BotScript, exit_push
from duologue.trace.reader import load_trace
from tests.talk.stage import call_with_person

if TYPE_CHECKING:
    from playwright.async_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.socket]

ROOT = Path(__file__).parents[2]
SCENARIO = "tau2_telecom__service_issue__airplane_mode_on__unseat_sim_card"
CLOSED_NETWORK = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
FAKE_MICROPHONE = ("--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream")
AIRPLANE_MODE = "#state dt:text-is('Airplane mode') + dd"


@asynccontextmanager
async def chromium(flags: Sequence[str] = FAKE_MICROPHONE) -> AsyncIterator[Page]:
    api = pytest.importorskip("playwright.async_api", reason="extra browser is not installed")
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no Chromium on this machine")
    async with api.async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=program, args=[*CLOSED_NETWORK, *flags])
        page = await (await browser.new_context(viewport={"width": 1440, "height": 1000})).new_page()
        page.set_default_timeout(20_000)
        yield page
        await browser.close()


def speak_into(path: Path, text: str, *, after_s: float) -> None:
    """Write what the fake microphone says: silence, the words, and silence again."""
    voice = HibariVoice(TtsConfig(pitch=0.8), 48_000)
    words = b"".join(word.audio for word in voice.speak(text))
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(48_000)
        file.writeframes(bytes(round(after_s * 48_000) * 2) + words + bytes(60 * 96_000))


@dataclass
class Program:
    """``run_evaluation.py talk`` in a process of its own."""

    process: asyncio.subprocess.Process
    url: str

    async def finish(self) -> tuple[int, str]:
        """Return exit code and the rest of its output."""
        output, _ = await asyncio.wait_for(self.process.communicate(), 30)
        return self.process.returncode or 0, output.decode()


@asynccontextmanager
async def talk(output_dir: Path, side: str) -> AsyncIterator[Program]:
    command = [sys.executable, "run_evaluation.py", "talk", "--scenario", SCENARIO, "--as", side, "--launch"]
    process = await asyncio.create_subprocess_exec(
        *command, "--port", "0", "--output-dir", str(output_dir), cwd=ROOT, stdout=-1, stderr=-2
    )
    assert process.stdout is not None
    try:
        lines = []
        while line := (await asyncio.wait_for(process.stdout.readline(), 90)).decode():
            lines.append(line)
            if found := re.search(r"open (http://\S+)", line):
                yield Program(process, found.group(1))
                break
        else:
            pytest.fail("".join(lines))
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


@pytest.mark.speech
async def test_caller_in_a_browser_talks_to_the_agent_and_uses_the_phone(tmp_path: Path) -> None:
    line = tmp_path / "line.wav"
    speak_into(line, "Hello. My phone has no service. I cannot make a call.", after_s=8.0)
    microphone = [*FAKE_MICROPHONE, f"--use-file-for-fake-audio-capture={line}%noloop"]
    async with talk(tmp_path, "user") as program, chromium(microphone) as page:
        await page.goto(program.url)
        await page.click("body[data-status=waiting] #call")
        await page.wait_for_selector("body[data-status=talking]")
        await page.wait_for_selector("#log .you:has-text('service')")
        await page.wait_for_selector("#log .you ~ .other")
        assert await page.inner_text(AIRPLANE_MODE) == "on"
        await page.click("[data-tool=toggle_airplane_mode] button")
        await page.wait_for_selector(f"{AIRPLANE_MODE}:has-text('off')")
        await page.wait_for_selector("#log .deed:has-text('recorded as action 1')")
        await page.screenshot(path=tmp_path / "call.png")
        await page.click("#call")
        await page.wait_for_selector("body[data-status=ended]")
        assert "Clean exit: the caller hung up" in await page.inner_text("#outcome")
        await page.screenshot(path=tmp_path / "result.png")
        _, output = await program.finish()
    assert "[1/1]" in output
    check_call(tmp_path)


def check_call(output_dir: Path) -> None:
    (folder,) = output_dir.glob("eval_*/tau2_telecom__*")
    trace = load_trace(folder / "trace.jsonl")
    assert trace.of(CallStarted)
    assert any("service" in event.text for event in trace.of(HeardText) if event.side is Side.AGENT)
    first = trace.of(ActionApplied)[0]
    assert (first.side, first.action.name, first.accepted) == (Side.USER, "toggle_airplane_mode", True)
    assert all(event.equal for event in trace.of(StateChecked))
    assert trace.of(CallEnded)[0].stop_reason is StopReason.CALLER_DONE
    recording = read_recording(folder / "conversation_log.wav")
    for track in (recording.agent_heard, recording.user_heard):
        loudest = max(level_dbfs(np.ascontiguousarray(part).tobytes()) for part in np.array_split(track, 200))
        assert loudest > -35
    assert (folder / "result.json").is_file()


@asynccontextmanager
async def scripted_call(tmp_path: Path, bot: BotScript, side: Side = Side.USER) -> AsyncIterator[TalkServer]:
    """Serve the page of a call against a bot without speech; the call begins when the browser connects."""
    line = pytest.importorskip("duologue.talk.line").WebRtcLine(SystemClock())
    load_domain("tau2_telecom")
    (scenario,) = build_scenarios(Selection(names=(SCENARIO,)))
    desk = Desk(scenario, side, line)

    async def run() -> None:
        await line.wait_connected()
        await call_with_person(
            tmp_path, desk, bot, desk.feed.ticked, scenario=scenario, pace="wall", max_duration_s=30.0
        )

    async with TalkServer(desk) as server:
        running = asyncio.create_task(run())
        yield server
        if not line.is_connected and not line.is_lost:
            running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.wait_for(running, 10)


async def test_forms_follow_the_schema_and_work_from_the_keyboard(tmp_path: Path) -> None:
    async with scripted_call(tmp_path, BotScript()) as server, chromium() as page:
        await page.goto(server.url)
        await page.focus("body[data-status=waiting] #call")
        await page.keyboard.press("Enter")
        await page.wait_for_selector("body[data-status=talking]")
        await page.fill("#filter", "network mode")
        await page.focus("[data-tool=set_network_mode_preference] summary")
        await page.keyboard.press("Enter")
        await page.keyboard.press("Tab")
        await page.keyboard.type("2g")
        await page.keyboard.press("Tab")
        await page.keyboard.press("Enter")
        await page.wait_for_selector("#state dd:has-text('2G only')")
        await page.wait_for_selector("#log .deed:has-text('2g_only')")
        await page.click("#call")
        await page.wait_for_selector("body[data-status=scoring]")


async def test_agents_exit_ends_the_call_on_the_page(tmp_path: Path) -> None:
    bot = BotScript(messages={50: [exit_push()]})
    async with scripted_call(tmp_path, bot) as server, chromium() as page:
        await page.goto(server.url)
        await page.click("body[data-status=waiting] #call")
        await page.wait_for_selector("#log :text('The agent ended the call.')")


async def test_closed_tab_ends_the_call_as_a_lost_line(tmp_path: Path) -> None:
    async with scripted_call(tmp_path, BotScript()) as server, chromium() as page:
        await page.goto(server.url)
        await page.click("body[data-status=waiting] #call")
        await page.wait_for_selector("body[data-status=talking]")
    trace = load_trace(tmp_path / "trace.jsonl")
    assert trace.of(CallEnded)[0].stop_reason is StopReason.BOT_LOST


async def test_blocked_microphone_is_explained_and_can_be_tried_again(tmp_path: Path) -> None:
    async with (
        scripted_call(tmp_path, BotScript()) as server,
        chromium(["--use-fake-device-for-media-stream", "--deny-permission-prompts"]) as page,
    ):
        await page.goto(server.url)
        await page.click("body[data-status=waiting] #call")
        await page.wait_for_selector("#alert:has-text('The microphone is blocked')")
        assert await page.is_enabled("#call")


async def test_second_tab_is_told_so(tmp_path: Path) -> None:
    async with scripted_call(tmp_path, BotScript()) as server, chromium() as page:
        await page.goto(server.url)
        await page.wait_for_selector("body[data-status=waiting]")
        other = await page.context.new_page()
        await other.goto(server.url)
        await other.wait_for_selector("#alert:has-text('open in another tab')")


async def test_every_control_has_a_name_and_nothing_overflows(tmp_path: Path) -> None:
    async with scripted_call(tmp_path, BotScript(), Side.AGENT) as server, chromium() as page:
        for width in (1440, 1100, 800, 390):
            await page.set_viewport_size({"width": width, "height": 900})
            await page.goto(server.url)
            await page.wait_for_selector("body[data-status=waiting]")
            assert await page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        unnamed = await page.evaluate(
            """[...document.querySelectorAll("button, input, select, textarea, summary")]
              .filter((node) => !(node.textContent.trim() || node.labels?.length || node.ariaLabel)).length"""
        )
        assert unnamed == 0
