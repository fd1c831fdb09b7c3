"""Voice activity detection: Silero, with one ONNX session for the process."""

from __future__ import annotations

import importlib.resources

import numpy as np
from pipecat.audio.vad.silero import SileroOnnxModel, SileroVADAnalyzer
from pipecat.audio.vad.vad_analyzer import VADAnalyzer, VADParams

from duologue.config import VadConfig

_DECAY_WINDOWS = 6
"""Silent windows that still go through the model, so that its state forgets the last speech."""

_LOUDNESS_WINDOWS = 32
"""Windows after which the loudness of digital silence need not be measured: a second."""


def load_silero() -> object:
    """Return the ONNX session of the Silero model that Pipecat ships. Takes about 0.1 s."""
    path = importlib.resources.files("pipecat.audio.vad.data").joinpath("silero_vad.onnx")
    return SileroOnnxModel(str(path), force_onnx_cpu=True).session


class _SessionState(SileroOnnxModel):
    """The recurrent state of one stream, on a shared ONNX session."""

    def __init__(self, session: object) -> None:
        self.session = session
        self.sample_rates = [8000, 16000]
        self.reset_states()


class SharedSilero(SileroVADAnalyzer):
    """A Silero analyzer with its own state on a shared model. Digital silence is not run through the model.

    Args:
        session: what :func:`load_silero` returned.
        config: thresholds and times.
    """

    def __init__(self, session: object, config: VadConfig) -> None:
        params = VADParams(
            confidence=config.confidence,
            start_secs=config.start_secs,
            stop_secs=config.stop_secs,
            min_volume=config.min_volume,
        )
        VADAnalyzer.__init__(self, params=params)  # the direct parent would open an ONNX session of its own
        self._model = _SessionState(session)
        self._windows_since_reset = 0
        self._low_confidence_windows = 0
        self._silent_windows = 0

    def set_sample_rate(self, sample_rate: int) -> None:
        """Take the stream's rate in Hz; the stream begins after a second of silence."""
        super().set_sample_rate(sample_rate)
        self._volume_tracker.update(bytes(sample_rate * 2), sample_rate)

    def voice_confidence(self, buffer: bytes) -> float:
        """Return how sure the model is of a voice, from 0 to 1, for one window of s16 audio."""
        self._silent_windows = 0 if any(buffer) else self._silent_windows + 1
        if self._silent_windows > _DECAY_WINDOWS:
            self._maybe_reset_model(0.0)
            return 0.0
        return float(np.asarray(super().voice_confidence(buffer)).item())

    def _get_smoothed_volume(self, audio: bytes) -> float:
        """Once the loudness window holds nothing but digital silence, the volume only fades."""
        if self._silent_windows > _LOUDNESS_WINDOWS:
            return float(self._prev_volume * (1 - self._smoothing_factor))
        return float(super()._get_smoothed_volume(audio))
