from pathlib import Path

import pytest

from duologue.audio.decoding import decode_audio
from duologue.config import TtsConfig
from duologue.errors import FixtureError
from duologue.records.caller import FrozenUtterance
from duologue.speech.hibari import HibariVoice
from duologue.speech.spoken import SpokenUtterances

pytestmark = pytest.mark.speech
TEXT = FrozenUtterance(text="Please turn the heating on.")


class Voices:
    """Counts how often a voice is made."""

    def __init__(self) -> None:
        self.made: list[TtsConfig] = []

    def __call__(self, config: TtsConfig, rate_hz: int) -> HibariVoice:
        self.made.append(config)
        return HibariVoice(config, rate_hz)


def test_text_becomes_a_sound_file_that_is_kept(tmp_path: Path) -> None:
    voices = Voices()
    first = SpokenUtterances(TtsConfig(), tmp_path, voices)(TEXT)
    again = SpokenUtterances(TtsConfig(), tmp_path, voices)(TEXT)
    assert first == again
    assert len(voices.made) == 1
    assert 1.0 < len(decode_audio(first, 16_000)) / 16_000 < 4.0


def test_other_words_and_other_voices_are_other_files(tmp_path: Path) -> None:
    speak = SpokenUtterances(TtsConfig(), tmp_path)
    lower = TEXT.model_copy(update={"voice": {"pitch": 0.8}})
    other = TEXT.model_copy(update={"text": "Please turn the heating off."})
    assert len({speak(TEXT), speak(lower), speak(other)}) == 3
    assert len(list(tmp_path.iterdir())) == 3


def test_configured_voice_is_used_unless_the_utterance_names_its_own(tmp_path: Path) -> None:
    voices = Voices()
    speak = SpokenUtterances(TtsConfig(pitch=0.8), tmp_path, voices)
    speak(TEXT)
    speak(TEXT.model_copy(update={"voice": {"pitch": 1.2}}))
    assert [config.pitch for config in voices.made] == [0.8, 1.2]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"voice": {"pich": 1.0}}, "voice.pich"),
        ({"language": "hi"}, "English only"),
        ({"text": "..."}, "nothing that can be spoken"),
    ],
)
def test_what_cannot_be_spoken_is_an_error_that_says_why(
    tmp_path: Path, changes: dict[str, object], words: str
) -> None:
    with pytest.raises(FixtureError, match=words):
        SpokenUtterances(TtsConfig(), tmp_path)(TEXT.model_copy(update=changes))
