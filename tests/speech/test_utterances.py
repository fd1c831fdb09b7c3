import base64

import pytest

from duologue.errors import FixtureError
from duologue.records.caller import FrozenUtterance
from duologue.speech.utterances import utterance_audio
from tests.present import present


def test_sound_comes_from_under_the_data_root_or_from_the_users_own_files(tmp_path, monkeypatch):
    monkeypatch.setenv("EVAL_DATA_ROOT", str(tmp_path))
    (tmp_path / "a.wav").write_bytes(b"sound")
    assert utterance_audio(FrozenUtterance(audio="a.wav")) == b"sound"
    assert utterance_audio(FrozenUtterance(audio=str(tmp_path / "a.wav"))) == b"sound"


def test_sound_may_be_in_the_record_itself():
    encoded = base64.b64encode(b"sound").decode()
    assert utterance_audio(FrozenUtterance(audio_b64=encoded)) == b"sound"


def test_text_is_spoken_by_the_configured_voice_only():
    utterance = FrozenUtterance(text="Hello.")
    assert utterance_audio(utterance, lambda given: present(given.text).encode()) == b"Hello."
    with pytest.raises(FixtureError, match=r"'Hello\.' has no sound file, and no voice was configured"):
        utterance_audio(utterance)


def test_a_transcript_never_stands_in_for_sound():
    assert utterance_audio(FrozenUtterance(transcript="Hello."), lambda given: b"never") is None
    assert utterance_audio(FrozenUtterance(audio_b64="")) is None


def test_what_cannot_be_read_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("EVAL_DATA_ROOT", str(tmp_path))
    (tmp_path / "empty.wav").touch()
    for given, message in [
        ({"audio": "gone.wav"}, "no file 'gone.wav' under"),
        ({"audio": str(tmp_path / "gone.wav")}, "No such file"),
        ({"audio": "empty.wav"}, "the sound file is empty"),
        ({"audio_b64": "§"}, "not base64"),
    ]:
        with pytest.raises(FixtureError, match=message):
            utterance_audio(FrozenUtterance.model_validate(given))
