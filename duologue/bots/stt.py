"""Speech to text: Whisper on as many frames as an utterance needs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import numpy as np
from pipecat.frames.frames import Frame, TranscriptionFrame
from pipecat.services.settings import STTSettings
from pipecat.services.stt_service import SegmentedSTTService, STTService
from pipecat.utils.time import time_now_iso8601

from duologue.bots.charging import charge_session
from duologue.config import SttConfig
from duologue.speech.recognizers import Recognizers
from duologue.speech.whisper import RATE_HZ

_LATEST_TRANSCRIPT_S = 1.0  # session time, which stands still while Whisper works, so that none is late


class WhisperStt(SegmentedSTTService):
    """Transcribes each stretch between the VAD's start and stop.

    Args:
        recognizers: the process's models.
        config: the ``stt`` section.
        audio_passthrough: whether the audio goes on to what comes after, which costs time for nothing unless needed.
    """

    def __init__(self, recognizers: Recognizers, config: SttConfig, *, audio_passthrough: bool = False) -> None:
        super().__init__(
            sample_rate=RATE_HZ,
            audio_passthrough=audio_passthrough,
            ttfs_p99_latency=_LATEST_TRANSCRIPT_S,
            settings=STTSettings(model=config.model, language=None),
        )
        self._recognizers = recognizers
        self._whisper = recognizers.model_for(None)
        self._language: str | None = None
        self._config = config

    @property
    def wants_wav_segments(self) -> bool:
        """Raw PCM is enough."""
        return False

    def listen_in(self, language: str | None) -> None:
        """Hear ``language`` (a code or a tag) from now on; None takes the configured one.

        Raises:
            ConfigError: no model at hand hears it.
        """
        self._whisper = self._recognizers.model_for(language)
        self._language = language

    async def run_stt(self, audio: bytes) -> AsyncIterator[Frame]:
        """Yield one final transcript of ``audio`` (s16 mono 16 kHz), or nothing when no speech was heard."""
        samples = np.frombuffer(audio, dtype=np.int16).astype(np.float32) / 32768.0
        loop = asyncio.get_running_loop()
        async with charge_session(self._config.charge):
            text: str = await loop.run_in_executor(None, self._whisper.transcribe, samples, self._language)
        if _has_words(text):
            yield TranscriptionFrame(text, "", time_now_iso8601())


def forget_audio(stt: STTService | None) -> None:
    """Drop audio that was heard and not yet transcribed; services that transcribe as they hear keep none."""
    if isinstance(stt, SegmentedSTTService):
        stt._audio_buffer.clear()
        while not stt._segment_queue.empty():
            stt._segment_queue.get_nowait()


def _has_words(text: Any) -> bool:
    """Whether anything but punctuation and bracketed sound descriptions was heard."""
    spoken = text
    for opening, closing in ("[]", "()", "**"):
        while opening in spoken and closing in spoken[spoken.index(opening) + 1 :]:
            start = spoken.index(opening)
            spoken = spoken[:start] + spoken[spoken.index(closing, start + 1) + 1 :]
    return any(letter.isalnum() for letter in spoken)
