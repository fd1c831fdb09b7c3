import pytest

from duologue.errors import ConfigError
from duologue.speech.build import build_transcriber


@pytest.mark.parametrize(
    ("kind", "options", "name"),
    [
        ("groq", {"env": {"GROQ_API_KEY": "k"}}, "https://api.groq.com/openai/v1 whisper-large-v3-turbo"),
        ("groq", {"env": {"GROQ_API_KEY": "k"}, "model": "m"}, "https://api.groq.com/openai/v1 m"),
        ("http://localhost:8000/v1", {"env": {}, "model": "m"}, "http://localhost:8000/v1 m"),
    ],
)
async def test_endpoints_are_built_by_name_or_address(kind, options, name):
    transcriber = build_transcriber(kind, languages=["en"], **options)
    assert transcriber.name == name
    await transcriber.close()


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("groq", "GROQ_API_KEY is not set"),
        ("http://localhost/v1", "name the model to use"),
        ("wisper", "unknown recognizer 'wisper'; known: whisper, groq, or the URL of a server"),
    ],
)
def test_what_cannot_work_fails_at_once(kind, message):
    with pytest.raises(ConfigError, match=message):
        build_transcriber(kind, languages=["en"], env={})


@pytest.mark.speech
def test_whisper_is_checked_against_the_languages_to_be_heard():
    assert build_transcriber("whisper", languages=["en", "en-US"], env={}).name == "whisper:bundled"
    with pytest.raises(ConfigError, match=r"no model\.bin in"):
        build_transcriber("whisper", languages=["en"], env={}, model="tests")
