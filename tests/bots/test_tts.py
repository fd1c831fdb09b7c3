import numpy as np
import pytest

from duologue.config import TtsConfig
from duologue.errors import ConfigError
from duologue.speech.hibari import HibariVoice

pytestmark = pytest.mark.speech

TEXT = "Hello, please turn the phone off and on again."


def wave(voice, text=TEXT):
    return np.frombuffer(b"".join(word.audio for word in voice.speak(text)), "<i2").astype(float)


def pitch_hz(samples, rate_hz=16000):
    """The median fundamental of the voiced 40 ms windows, by autocorrelation between 70 and 350 Hz."""
    found = []
    for start in range(0, len(samples) - 640, 320):
        window = samples[start : start + 640] - samples[start : start + 640].mean()
        if np.abs(window).max() < 2000:
            continue
        correlation = np.correlate(window, window, "full")[639:]
        lags = np.arange(rate_hz // 350, rate_hz // 70)
        best = lags[np.argmax(correlation[lags])]
        if correlation[best] > 0.5 * correlation[0]:
            found.append(rate_hz / best)
    return float(np.median(found))


def test_a_sentence_is_cut_into_its_words_in_whole_frames(models):
    words = models.voice.speak(TEXT)
    assert [word.text for word in words] == [word + " " for word in TEXT.split()]
    assert all(len(word.audio) % 640 == 0 for word in words)


def test_equal_text_gives_equal_audio_from_a_new_engine(models):
    assert np.array_equal(wave(HibariVoice(TtsConfig(), 16000)), wave(models.voice))


def test_silence_around_a_sentence_is_trimmed(models):
    loud = np.flatnonzero(np.abs(wave(models.voice)) > 100)
    assert loud[0] <= 0.04 * 16000
    assert len(wave(models.voice)) - loud[-1] <= 0.2 * 16000


def test_a_lower_pitch_is_a_different_voice_at_the_same_pace(models):
    low = HibariVoice(TtsConfig(pitch=0.8), 16000)
    assert pitch_hz(wave(low)) < 0.9 * pitch_hz(wave(models.voice))
    assert len(wave(low)) == pytest.approx(len(wave(models.voice)), rel=0.1)


def test_speed_shortens_speech(models):
    assert len(wave(HibariVoice(TtsConfig(speed=1.5), 16000))) < 0.8 * len(wave(models.voice))


@pytest.mark.parametrize("rate_hz", [8000, 24000])
def test_the_rate_changes_the_samples_not_the_duration(models, rate_hz):
    there = wave(HibariVoice(TtsConfig(), rate_hz))
    assert len(there) / rate_hz == pytest.approx(len(wave(models.voice)) / 16000, abs=0.05)


@pytest.mark.parametrize("text", ["...", "!", ""])
def test_unspeakable_text_has_no_audio(models, text):
    assert b"".join(word.audio for word in models.voice.speak(text)) == b""


def test_an_unknown_voice_lists_the_known_ones():
    with pytest.raises(ConfigError, match=r"hibari has: .*heart"):
        HibariVoice(TtsConfig(voice="hart"), 16000)
