"""Local Whisper on as many frames as an utterance needs."""

from __future__ import annotations

import asyncio
import math
import re
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from duologue.audio.decoding import decode_audio
from duologue.config import SttConfig
from duologue.errors import ConfigError, TranscriptionError
from duologue.speech.languages import ENGLISH, base_language
from duologue.speech.whisper_models import BUNDLED, BUNDLED_MULTILINGUAL, MULTILINGUAL_WAYS, WAYS, find_model

RATE_HZ = 16000  # what the model was trained on
DETECT = "auto"
"""The language hint that leaves the language to a multilingual model."""

_MEL_PER_S = 100  # frames of 10 ms, fixed by the model
_WINDOW_S = 29.5  # the model's window of 30 s, less room for silence after the words
_LONGEST_MEL = 3000  # the model's window of 30 s
_ROOM_MEL = {False: (300, 100), True: (1000, 300)}
"""The shortest window and the silence after the speech, by whether the model is multilingual.

With less room the small multilingual models drop the end of a sentence.
"""

# Text of a sentence or two that repeats nothing compresses less than that; Whisper's own bound of 2.4 lets short
# loops pass.
_LOOP_RATIO = 2.0
_PHRASE_WORDS = 3  # shorter phrases are repeated by people as well: no, no; two two
_TOKENS_PER_S = {True: 5, False: 30}
"""How many tokens a second of speech can need, by whether it is English: other scripts take several a letter."""
_LEAST_TOKENS = 12  # for the shortest sounds, so that a word and its punctuation always fit
_MOST_TOKENS = 220  # the decoder holds 224


class ShortWhisper:
    """A Whisper model that encodes only the mel frames present and a little silence. Shared by all sessions.

    Args:
        config: the ``stt`` section.

    Raises:
        ConfigError: faster-whisper or the model is missing.
    """

    def __init__(self, config: SttConfig) -> None:
        source = find_model(config.model)
        try:
            from faster_whisper import WhisperModel
            from faster_whisper.transcribe import get_ctranslate2_storage
        except ImportError as error:
            raise ConfigError("stt.type whisper needs faster-whisper: pip install 'duologue[local]'") from error
        try:
            self._model: Any = WhisperModel(
                source.name,
                device=config.device,
                compute_type=config.compute_type,
                cpu_threads=config.threads,
                num_workers=1,
                local_files_only=not config.download,
                files=dict(source.files) or None,
            )
        except (ValueError, RuntimeError, OSError) as error:
            raise ConfigError(f"stt.model {config.model!r} cannot be loaded: {error}; {WAYS}") from error
        self.is_multilingual: bool = self._model.model.is_multilingual
        self._tokenizers: dict[str, object] = {}
        self._storage = get_ctranslate2_storage
        self._config = config
        self.check_language(config.language)

    def transcribe(self, audio: NDArray[np.float32], language: str | None = None) -> str:
        """Return what was said in 16 kHz mono audio, empty when the model hears no speech.

        Args:
            audio: samples in -1…1.
            language: ISO 639-1 code, a tag such as ``pt-BR``, or ``auto``; None takes ``stt.language``.

        Raises:
            ConfigError: the model cannot hear this language; the message lists models that can.
        """
        code = self.check_language(language or self._config.language)
        seconds = len(audio) / RATE_HZ
        if seconds > _WINDOW_S:
            return self._decode_long(audio, code)
        encoded = self._encode(audio)
        code = self._detected(encoded) if code == DETECT else code
        tokenizer = self._tokenizer(code)
        most = min(_MOST_TOKENS, int(_LEAST_TOKENS + seconds * _TOKENS_PER_S[code == ENGLISH]))
        result = self._model.model.generate(
            encoded,
            [[*tokenizer.sot_sequence, tokenizer.no_timestamps]],
            beam_size=self._config.beam_size,
            max_length=2 * most,  # the decoder takes half of it for text
            return_no_speech_prob=True,
            suppress_blank=True,
        )[0]
        if result.no_speech_prob > self._config.max_no_speech:
            return ""
        tokens = result.sequences_ids[0]
        text = tokenizer.decode([token for token in tokens if token < tokenizer.eot]).strip()
        is_cut_off = len(tokens) >= most
        return self._decode_long(audio, code) if is_cut_off or _is_loop(text) else text

    def _encode(self, audio: NDArray[np.float32]) -> object:
        features = self._model.feature_extractor(audio)
        shortest, silence = _ROOM_MEL[self.is_multilingual]
        wanted = math.ceil((features.shape[-1] + silence) / _MEL_PER_S) * _MEL_PER_S
        frames = min(_LONGEST_MEL, max(shortest, wanted))
        features = np.pad(features, ((0, 0), (0, max(0, frames - features.shape[-1]))))[:, :frames]
        return self._model.model.encode(self._storage(np.ascontiguousarray(features[None])))

    def _detected(self, encoded: object) -> str:
        token: str = self._model.model.detect_language(encoded)[0][0][0]
        return token.strip("<|>")

    def check_language(self, language: str) -> str:
        """Return the code of a language that the model can hear.

        Raises:
            ConfigError: it cannot; the message lists models that can.
        """
        code = language if language == DETECT else base_language(language)
        if not self.is_multilingual:
            if code != ENGLISH:
                raise ConfigError(
                    f"stt.model {self._config.model!r} hears English only, not {language!r}; {MULTILINGUAL_WAYS}"
                )
        elif code != DETECT:
            self._tokenizer(code)
        return code

    def _tokenizer(self, code: str) -> Any:
        from faster_whisper.tokenizer import Tokenizer

        if code not in self._tokenizers:
            task = {"task": "transcribe", "language": code} if self.is_multilingual else {}
            try:
                self._tokenizers[code] = Tokenizer(self._model.hf_tokenizer, self.is_multilingual, **task)
            except ValueError as error:
                raise ConfigError(
                    f"stt.language: Whisper knows no language {code!r}; give an ISO 639-1 code"
                ) from error
        return self._tokenizers[code]

    def _decode_long(self, audio: NDArray[np.float32], code: str) -> str:
        segments, _ = self._model.transcribe(
            audio,
            language=None if code == DETECT else code,
            beam_size=5,
            without_timestamps=True,
            condition_on_previous_text=False,
            temperature=0.0,
        )
        return " ".join(segment.text.strip() for segment in segments)


def _is_loop(text: str) -> bool:
    """Whether the decoder repeated itself: a phrase twice in a row, or text that compresses unusually well."""
    raw = text.encode()
    bytes_per_letter = len(raw) / max(1, len(text))
    is_dense = len(text) > 20 and len(raw) / len(zlib.compress(raw)) > _LOOP_RATIO * bytes_per_letter
    return is_dense or _repeats_phrase(re.findall(r"\w+", text.lower()))


def _repeats_phrase(words: Sequence[str]) -> bool:
    """Whether some phrase of at least ``_PHRASE_WORDS`` different words is said twice in a row."""
    return any(
        words[start : start + length] == words[start + length : start + 2 * length]
        and len(set(words[start : start + length])) >= _PHRASE_WORDS
        for length in range(_PHRASE_WORDS, len(words) // 2 + 1)
        for start in range(len(words) - 2 * length + 1)
    )


class WhisperTranscriber:
    """Transcribes audio files with local Whisper models.

    English goes to the configured model. Other languages need a multilingual one: with ``bundled`` it is
    ``bundled-multilingual`` (alone, when nothing is English), otherwise the configured model itself has to be
    multilingual.

    Args:
        config: the ``stt`` section.
        languages: the languages that will be heard.

    Raises:
        ConfigError: a model is missing; the message lists the ways to provide one.
    """

    def __init__(self, config: SttConfig | None = None, *, languages: Iterable[str] = (ENGLISH,)) -> None:
        config = config or SttConfig()
        codes = sorted({base_language(language) for language in languages})
        foreign = [code for code in codes if code != ENGLISH]
        if foreign and foreign == codes and config.model == BUNDLED:
            config = config.model_copy(update={"model": BUNDLED_MULTILINGUAL})
        self._english = ShortWhisper(config)
        self._foreign = self._english
        self.name = f"whisper:{config.model}"
        if foreign and config.model == BUNDLED:
            self._foreign = ShortWhisper(config.model_copy(update={"model": BUNDLED_MULTILINGUAL}))
            self.name += f"+{BUNDLED_MULTILINGUAL}"
        for code in foreign:
            self._foreign.check_language(code)

    async def transcribe(self, audio: bytes, language: str) -> str:
        """Return what was said in an audio file.

        Raises:
            TranscriptionError: the file is not audio, or no model at hand hears the language.
        """
        return await asyncio.get_running_loop().run_in_executor(None, self._transcribe, audio, language)

    async def close(self) -> None:
        """Nothing is open."""

    def _transcribe(self, audio: bytes, language: str) -> str:
        model = self._english if base_language(language) == ENGLISH else self._foreign
        try:
            return model.transcribe(decode_audio(audio, RATE_HZ), language)
        except (ValueError, ConfigError) as error:
            raise TranscriptionError(str(error)) from error
