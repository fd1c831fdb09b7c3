import base64
import io
from pathlib import Path

import numpy as np
import pytest
import soundfile

from duologue.config import TtsConfig
from duologue.errors import ConfigError, FixtureError
from duologue.records.caller import FrozenUtterance, LiveCaller, RecordedCaller
from duologue.records.scenario import Scenario, SideSpec, SignalName
from duologue.runner.utterances import build_speaker, load_clips
from duologue.speech.spoken import SpokenUtterances

TONE = np.sin(np.arange(8000) / 5).astype(np.float32) / 2


def sound(rate_hz: int = 8000, kind: str = "WAV", samples: np.ndarray = TONE) -> bytes:
    buffer = io.BytesIO()
    soundfile.write(buffer, samples, rate_hz, format=kind)
    return buffer.getvalue()


def scenario(*utterances: FrozenUtterance) -> Scenario:
    side = SideSpec(prompt="")
    return Scenario(
        name="shop__1",
        domain="shop",
        task_id="1",
        user=side,
        agent=side,
        success_signals=(SignalName.CLEAN_EXIT,),
        caller=RecordedCaller(utterances=utterances) if utterances else LiveCaller(),
    )


def test_sound_file_is_decoded_by_content_and_brought_to_the_rate_of_the_call(tmp_path: Path) -> None:
    path = tmp_path / "really_flac.wav"
    path.write_bytes(sound(kind="FLAC"))
    (item,) = load_clips(scenario(FrozenUtterance(audio=str(path), transcript="hum")), None).values()
    assert len(item.pcm) == 2 * 16_000
    assert item.transcript == "hum"


def test_sound_can_come_in_the_scenario_itself() -> None:
    text = base64.b64encode(sound()).decode()
    (item,) = load_clips(scenario(FrozenUtterance(audio_b64=text)), None).values()
    assert len(item.pcm) == 2 * 16_000


def test_scenario_with_a_user_bot_has_no_recordings() -> None:
    assert load_clips(scenario(), None) == {}


def test_text_is_spoken_and_is_its_own_transcript() -> None:
    (item,) = load_clips(scenario(FrozenUtterance(text="Hello there.")), lambda utterance: sound()).values()
    assert item.transcript == "Hello there."


@pytest.mark.parametrize(
    ("utterance", "words"),
    [
        (FrozenUtterance(), "shop__1: utterance 2 of the caller: no audio"),
        (FrozenUtterance(audio="nowhere.wav"), "utterance 2 of the caller: no file 'nowhere.wav'"),
        (FrozenUtterance(audio_b64=base64.b64encode(b"words").decode()), "utterance 2 .* not an audio file"),
        (FrozenUtterance(audio_b64=base64.b64encode(sound(samples=TONE[:0])).decode()), "utterance 2 .* no sound"),
        (FrozenUtterance(text="Hello."), "utterance 2 .* no voice was configured"),
    ],
)
def test_utterance_without_sound_is_named(utterance: FrozenUtterance, words: str) -> None:
    sounding = FrozenUtterance(audio_b64=base64.b64encode(sound()).decode())
    with pytest.raises(FixtureError, match=words):
        load_clips(scenario(sounding, utterance), None)


def test_voice_is_only_built_when_a_text_has_to_be_spoken(tmp_path: Path) -> None:
    assert build_speaker([scenario(FrozenUtterance(audio="x.wav"))], tmp_path / "none.yaml", tmp_path) is None
    with pytest.raises(ConfigError, match=r"none\.yaml"):
        build_speaker([scenario(FrozenUtterance(text="Hello."))], tmp_path / "none.yaml", tmp_path)


def test_texts_are_spoken_in_the_voice_of_the_user_bot(tmp_path: Path) -> None:
    config = tmp_path / "user.yaml"
    config.write_text("tts:\n  pitch: 0.7\n", encoding="utf-8")
    speak = build_speaker([scenario(FrozenUtterance(text="Hello."))], config, tmp_path)
    assert isinstance(speak, SpokenUtterances)
    assert speak.defaults == TtsConfig(pitch=0.7)
