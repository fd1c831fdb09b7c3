"""Transcription over HTTP: Groq, or any server with an OpenAI-compatible ``/v1/audio/transcriptions``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import openai

from duologue.errors import ConfigError, TranscriptionError
from duologue.speech.languages import base_language

GROQ_URL = "https://api.groq.com/openai/v1"
GROQ_MODEL = "whisper-large-v3-turbo"
UPLOAD_NAME = "query.wav"
"""How every upload is named, whatever its encoding: servers look at the content."""

_NO_KEY = "none"


@dataclass(frozen=True, slots=True)
class TranscriptionEndpoint:
    """Where to send audio. ``base_url`` ends in ``/v1``; a local server needs no ``api_key``."""

    base_url: str
    model: str
    api_key: str = field(default="", repr=False)
    timeout_s: float = 60.0


def groq_endpoint(env: Mapping[str, str], *, base_url: str = GROQ_URL) -> TranscriptionEndpoint:
    """Return Groq's endpoint by ``GROQ_API_KEY`` and ``GROQ_TRANSCRIPTION_MODEL``.

    Raises:
        ConfigError: the key is not set.
    """
    key = env.get("GROQ_API_KEY", "").strip()
    if not key:
        raise ConfigError(
            "environment: GROQ_API_KEY is not set; export it, or choose whisper (local) or another endpoint"
        )
    return TranscriptionEndpoint(base_url, env.get("GROQ_TRANSCRIPTION_MODEL", "").strip() or GROQ_MODEL, key)


class EndpointTranscriber:
    """Transcribes with one request an utterance and no retry.

    Args:
        endpoint: the server.

    Raises:
        ConfigError: the endpoint has no address or no model.
    """

    def __init__(self, endpoint: TranscriptionEndpoint) -> None:
        if not endpoint.base_url.startswith(("http://", "https://")):
            raise ConfigError(f"transcription endpoint {endpoint.base_url!r} must start with http:// or https://")
        if not endpoint.model:
            raise ConfigError(f"transcription endpoint {endpoint.base_url}: name the model to use")
        self.name = f"{endpoint.base_url} {endpoint.model}"
        self._endpoint = endpoint
        self._client = openai.AsyncOpenAI(
            base_url=endpoint.base_url,
            api_key=endpoint.api_key or _NO_KEY,
            timeout=endpoint.timeout_s,
            max_retries=0,
        )

    async def transcribe(self, audio: bytes, language: str) -> str:
        """Return the text of the server's answer.

        Raises:
            TranscriptionError: no connection, no answer in time, a status other than 2xx, or an answer without text.
        """
        try:
            answer = await self._client.audio.transcriptions.create(
                file=(UPLOAD_NAME, audio),
                model=self._endpoint.model,
                language=base_language(language),
                response_format="json",
            )
        except openai.APIStatusError as error:
            raise TranscriptionError(f"{self.name}: HTTP {error.status_code}: {error.message}") from error
        except openai.APIConnectionError as error:
            raise TranscriptionError(f"{self.name}: no answer ({error.__cause__ or error})") from error
        except openai.OpenAIError as error:
            raise TranscriptionError(f"{self.name}: {error}") from error
        text = getattr(answer, "text", None)
        if not isinstance(text, str):
            raise TranscriptionError(f"{self.name}: the answer holds no text")
        return text

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()
