"""A recognizer of one's own: each utterance goes to an HTTP server as a WAV file, and its words come back.

In a bot's configuration:

    stt:
      service: own_stt:HttpStt
      settings: {url: "http://127.0.0.1:9000/transcribe"}
      hold: true
"""

from __future__ import annotations

from collections.abc import AsyncGenerator

import aiohttp
from pipecat.frames.frames import ErrorFrame, Frame, TranscriptionFrame
from pipecat.services.settings import STTSettings
from pipecat.services.stt_service import SegmentedSTTService
from pipecat.utils.time import time_now_iso8601


class HttpStt(SegmentedSTTService):
    """Pipecat cuts the audio where the voice activity detector hears speech; ``run_stt`` gets one such piece."""

    def __init__(self, *, url: str, timeout_s: float = 10.0, **options: object) -> None:
        super().__init__(
            sample_rate=16000,
            audio_passthrough=False,
            ttfs_p99_latency=1.0,
            settings=STTSettings(model=url, language=None),
            **options,
        )
        self._url = url
        self._timeout = aiohttp.ClientTimeout(total=timeout_s)

    async def run_stt(self, audio: bytes) -> AsyncGenerator[Frame, None]:
        async with (
            aiohttp.ClientSession(timeout=self._timeout) as session,
            session.post(self._url, data=audio) as reply,
        ):
            if reply.status != 200:
                yield ErrorFrame(f"{self._url} answered {reply.status}")
                return
            text = (await reply.text()).strip()
        if text:
            yield TranscriptionFrame(text, "", time_now_iso8601())
