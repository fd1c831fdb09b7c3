import re

import numpy as np
import pytest

from duologue.config import SttConfig
from duologue.errors import ConfigError
from duologue.speech.whisper import ShortWhisper
from duologue.speech.whisper_models import whisper_folder

pytestmark = pytest.mark.speech


def samples(pcm):
    return np.frombuffer(pcm, "<i2").astype(np.float32) / 32768


@pytest.mark.parametrize(
    "text", ["Yes.", "Please turn airplane mode off.", "Your account is active, and your balance is zero."]
)
def test_what_was_said_is_written(models, caller, text):
    heard = models.whisper.transcribe(samples(caller(text)))
    assert re.findall(r"\w+", heard.lower()) == re.findall(r"\w+", text.lower())


def test_equal_audio_gives_equal_text(models, caller):
    audio = samples(caller("My number is five, five, five, one, two, three."))
    assert models.whisper.transcribe(audio) == models.whisper.transcribe(audio)


def test_more_than_thirty_seconds_are_understood(models, caller):
    audio = np.concatenate([samples(caller("This is the first part.")), np.zeros(29 * 16000, np.float32)])
    assert "first part" in models.whisper.transcribe(np.concatenate([audio, samples(caller("And this is the last."))]))


@pytest.mark.parametrize("model", ["/nowhere/model", "./model", "~/model", "a/b/c"])
def test_a_missing_model_lists_the_three_ways(model):
    with pytest.raises(ConfigError) as error:
        whisper_folder(model)
    for way in ("'bundled'", "a folder", "on the hub"):
        assert way in str(error.value)


def test_a_folder_without_a_model_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"no model\.bin in"):
        ShortWhisper(SttConfig(model=str(tmp_path)))


def test_a_hub_name_is_passed_on():
    assert whisper_folder("Systran/faster-whisper-base.en") == "Systran/faster-whisper-base.en"
