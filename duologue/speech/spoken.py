"""Utterances that are given as text: spoken once, and kept by their content."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path

import soundfile
from pydantic import ValidationError

from duologue.audio.pcm import samples_of
from duologue.config import TtsConfig
from duologue.errors import FixtureError
from duologue.records.caller import ClipSource
from duologue.speech.languages import ENGLISH, base_language
from duologue.speech.voice import Voice
from duologue.speech.voices import build_voice, engine_version

RATE_HZ = 16_000  # the rate of the line, so that clips are played as they are


class SpokenUtterances:
    """Speaks utterances into WAV files (16 kHz mono s16). Equal words in an equal voice are spoken once.

    Args:
        defaults: the configured voice; an utterance's own settings win over it.
        folder: where the files are kept; made when it is needed.
        build_voice: makes a voice; everything but tests leaves it alone.
    """

    def __init__(
        self, defaults: TtsConfig, folder: Path, build_voice: Callable[[TtsConfig, int], Voice] = build_voice
    ) -> None:
        self.defaults = defaults
        self._folder = folder
        self._build_voice = build_voice
        self._voices: dict[str, Voice] = {}

    def __call__(self, utterance: ClipSource) -> bytes:
        """Return the WAV file of an utterance's text.

        Raises:
            FixtureError: the voice settings are wrong, the language is not English, or the text cannot be spoken.
            ConfigError: the synthesizer or the voice is missing.
        """
        text = utterance.text or ""
        if base_language(utterance.language) != ENGLISH:
            raise FixtureError(f"utterance {text[:60]!r}: the voice speaks English only; give a sound file instead")
        config = self._config(utterance)
        path = self._folder / f"{_key(config, text)}.wav"
        if path.is_file():
            return path.read_bytes()
        content = self._speak(config, text)
        self._folder.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(".tmp")
        temporary.write_bytes(content)
        temporary.replace(path)
        return content

    def _config(self, utterance: ClipSource) -> TtsConfig:
        try:
            return TtsConfig.model_validate({**self.defaults.model_dump(), **utterance.voice})
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]
            key = ".".join(map(str, problem["loc"]))
            raise FixtureError(f"utterance {(utterance.text or '')[:60]!r}: voice.{key}: {problem['msg']}") from error

    def _speak(self, config: TtsConfig, text: str) -> bytes:
        key = config.model_dump_json()
        if key not in self._voices:
            self._voices[key] = self._build_voice(config, RATE_HZ)
        words = self._voices[key].speak(text)
        if not words:
            raise FixtureError(f"utterance {text[:60]!r} holds nothing that can be spoken")
        buffer = io.BytesIO()
        soundfile.write(
            buffer, samples_of(b"".join(word.audio for word in words)), RATE_HZ, format="WAV", subtype="PCM_16"
        )
        return buffer.getvalue()


def _key(config: TtsConfig, text: str) -> str:
    voice = config.model_dump(exclude={"charge"})
    content = json.dumps([engine_version(config), voice, text], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(content.encode()).hexdigest()[:32]
