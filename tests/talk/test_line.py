import asyncio
import fractions
from collections.abc import AsyncIterator

import numpy as np
import pytest

pytest.importorskip("aiortc", reason="extra webrtc is not installed")

from aiortc import MediaStreamTrack, RTCPeerConnection, RTCSessionDescription
from aiortc.mediastreams import MediaStreamError
from av import AudioFrame

from duologue.audio.pcm import level_dbfs
from duologue.clock import SystemClock
from duologue.protocol.messages import TICK_SAMPLES
from duologue.talk.line import WebRtcLine
from duologue.talk.phone_line import LineError

pytestmark = pytest.mark.socket

TONE = (8000 * np.sin(2 * np.pi * 440 * np.arange(960) / 48_000)).astype(np.int16)
TICK = (8000 * np.sin(2 * np.pi * 600 * np.arange(TICK_SAMPLES) / 16_000)).astype("<i2").tobytes()


class ToneTrack(MediaStreamTrack):
    """A microphone that hums."""

    kind = "audio"
    frames = 0

    async def recv(self) -> AudioFrame:
        if self.readyState != "live":
            raise MediaStreamError
        await asyncio.sleep(0.018)
        frame = AudioFrame.from_ndarray(TONE.reshape(1, -1), format="s16", layout="mono")
        frame.sample_rate, frame.time_base = 48_000, fractions.Fraction(1, 48_000)
        frame.pts = self.frames * 960
        self.frames += 1
        return frame


class Browser:
    """The other end of the line."""

    def __init__(self) -> None:
        self.connection = RTCPeerConnection()
        self.connection.addTrack(ToneTrack())
        self.voice: asyncio.Future[MediaStreamTrack] = asyncio.get_running_loop().create_future()
        self.connection.on("track", self.voice.set_result)

    async def call(self, line: WebRtcLine) -> None:
        await self.connection.setLocalDescription(await self.connection.createOffer())
        answer = await line.answer(self.connection.localDescription.sdp)
        await self.connection.setRemoteDescription(RTCSessionDescription(answer, "answer"))
        await asyncio.wait_for(line.wait_connected(), 10)


@pytest.fixture
async def line() -> AsyncIterator[WebRtcLine]:
    line = WebRtcLine(SystemClock())
    yield line
    await line.close()


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    browser = Browser()
    yield browser
    await browser.connection.close()


@pytest.mark.slow
async def test_sound_goes_both_ways(line: WebRtcLine, browser: Browser) -> None:
    await browser.call(line)
    voice = await asyncio.wait_for(browser.voice, 5)
    heard: list[float] = []
    for _ in range(60):
        line.playout.put(TICK)
        frame = await asyncio.wait_for(voice.recv(), 5)
        assert isinstance(frame, AudioFrame)
        heard.append(level_dbfs(frame.to_ndarray().astype("<i2").tobytes()))
    assert max(heard[30:]) > -20
    said = [level_dbfs(line.microphone.take()) for _ in range(20)]
    assert max(said) > -20


async def test_browser_that_leaves_is_noticed(line: WebRtcLine, browser: Browser) -> None:
    await browser.call(line)
    await browser.connection.close()
    for _ in range(100):
        if line.is_lost:
            break
        await asyncio.sleep(0.05)
    assert line.is_lost
    assert not line.is_connected


async def test_line_takes_one_browser_only(line: WebRtcLine, browser: Browser) -> None:
    await browser.call(line)
    with pytest.raises(LineError, match="under way"):
        await line.answer("v=0")


async def test_what_is_no_offer_is_refused_and_another_may_follow(line: WebRtcLine, browser: Browser) -> None:
    with pytest.raises(LineError, match="not a usable WebRTC offer"):
        await line.answer("m=audio nonsense")
    await browser.call(line)
    assert line.is_connected


async def test_offer_without_sound_is_refused(line: WebRtcLine) -> None:
    silent = RTCPeerConnection()
    silent.createDataChannel("only data")
    await silent.setLocalDescription(await silent.createOffer())
    with pytest.raises(LineError, match="no sound"):
        await line.answer(silent.localDescription.sdp)
    await silent.close()
