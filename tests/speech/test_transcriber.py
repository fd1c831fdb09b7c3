import pytest

from duologue.errors import TranscriptionError
from duologue.speech.transcriber import transcribe_utterance


class Hears:
    name = "fake"

    def __init__(self, text):
        self.text = text

    async def transcribe(self, audio, language):
        return self.text

    async def close(self):
        pass


async def test_white_space_around_a_transcript_goes():
    assert await transcribe_utterance(Hears("  Good morning. \n"), b"sound", "en") == "Good morning."


@pytest.mark.parametrize("audio", [None, b""])
async def test_without_audio_nothing_is_asked(audio):
    with pytest.raises(TranscriptionError, match="the utterance has no audio"):
        await transcribe_utterance(Hears("invented"), audio, "en")


@pytest.mark.parametrize("text", ["", " \n\t"])
async def test_a_blank_transcript_is_an_error(text):
    with pytest.raises(TranscriptionError, match="fake returned a blank transcript for 5 bytes"):
        await transcribe_utterance(Hears(text), b"sound", "en")
