import io

import numpy as np
import pytest
import soundfile

from duologue.config import TtsConfig
from duologue.speech.hibari import HibariVoice


@pytest.fixture(scope="session")
def voice():
    return HibariVoice(TtsConfig(), 16000)


@pytest.fixture(scope="session")
def spoken(voice):
    """Return a sentence as a sound file."""

    def speak(text, kind="WAV", rate_hz=16000):
        pcm = b"".join(word.audio for word in voice.speak(text))
        file = io.BytesIO()
        soundfile.write(file, np.frombuffer(pcm, "<i2"), rate_hz, format=kind)
        return file.getvalue()

    return speak
