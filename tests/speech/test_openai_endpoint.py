"""Transcription over HTTP, against a double on a real socket."""

import pytest

from duologue.errors import ConfigError, TranscriptionError
from duologue.speech.openai_endpoint import EndpointTranscriber, TranscriptionEndpoint, groq_endpoint
from duologue.speech.transcriber import transcribe_utterance
from duologue.testing.agent_doubles import AgentDouble

pytestmark = pytest.mark.socket


async def heard(double, endpoint, language="en"):
    transcriber = EndpointTranscriber(endpoint)
    try:
        return await transcribe_utterance(transcriber, b"RIFF sound", language)
    finally:
        await transcriber.close()


def groq_at(double, **env):
    return groq_endpoint({"GROQ_API_KEY": "k3y", **env}, base_url=f"{double.url}/v1")


async def test_groq_gets_file_model_hint_and_key():
    async with AgentDouble(hear=lambda upload: " Guten Morgen. ") as double:
        assert await heard(double, groq_at(double), "de-AT") == "Guten Morgen."
    upload = double.uploads[0]
    assert (upload.file_name, upload.audio, upload.authorization) == ("query.wav", b"RIFF sound", "Bearer k3y")
    assert upload.fields == {"model": "whisper-large-v3-turbo", "language": "de", "response_format": "json"}


async def test_the_model_of_groq_can_be_chosen():
    async with AgentDouble() as double:
        await heard(double, groq_at(double, GROQ_TRANSCRIPTION_MODEL="whisper-large-v3"))
    assert double.uploads[0].fields["model"] == "whisper-large-v3"


@pytest.mark.parametrize("env", [{}, {"GROQ_API_KEY": "  "}])
def test_without_a_key_groq_cannot_be_built(env):
    with pytest.raises(ConfigError, match="GROQ_API_KEY is not set; export it, or choose whisper"):
        groq_endpoint(env)


async def test_a_local_server_needs_no_key():
    async with AgentDouble() as double:
        assert await heard(double, TranscriptionEndpoint(f"{double.url}/v1", "base")) == "hello"


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((401, '{"error": {"message": "bad key"}}'), "HTTP 401: .*bad key"),
        ((500, "{}"), "HTTP 500"),
        ((200, "{}"), "holds no text"),
        ("  ", "returned a blank transcript for 10 bytes of audio"),
    ],
)
async def test_an_answer_without_a_transcript_fails_after_one_request(answer, message):
    async with AgentDouble(hear=lambda upload: answer) as double:
        with pytest.raises(TranscriptionError, match=message):
            await heard(double, groq_at(double))
    assert len(double.uploads) == 1


async def test_a_server_that_is_not_there_fails_the_utterance():
    with pytest.raises(TranscriptionError, match="no answer"):
        await heard(None, TranscriptionEndpoint("http://127.0.0.1:9/v1", "base"))


@pytest.mark.parametrize(
    ("endpoint", "message"),
    [
        (TranscriptionEndpoint("localhost/v1", "base"), "must start with http"),
        (TranscriptionEndpoint("http://localhost/v1", ""), "name the model to use"),
    ],
)
def test_an_incomplete_endpoint_cannot_be_built(endpoint, message):
    with pytest.raises(ConfigError, match=message):
        EndpointTranscriber(endpoint)


def test_a_key_is_never_shown():
    assert "k3y" not in repr(groq_endpoint({"GROQ_API_KEY": "k3y"}))
