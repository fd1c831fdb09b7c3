"""From a name on the command line to a transcriber."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from duologue.config import SttConfig
from duologue.errors import ConfigError
from duologue.speech.openai_endpoint import EndpointTranscriber, TranscriptionEndpoint, groq_endpoint
from duologue.speech.transcriber import Transcriber
from duologue.speech.whisper import WhisperTranscriber

TRANSCRIBER_KINDS = ("whisper", "groq")


def build_transcriber(
    kind: str, *, languages: Iterable[str], env: Mapping[str, str], config: SttConfig | None = None, model: str = ""
) -> Transcriber:
    """Return the transcriber ``kind``.

    Args:
        kind: ``whisper`` (local), ``groq``, or the base URL of an OpenAI-compatible server, ending in ``/v1``.
        languages: what will be heard; local models are checked against it.
        env: the environment; ``GROQ_API_KEY``, ``GROQ_TRANSCRIPTION_MODEL``, and for a URL ``OPENAI_API_KEY``.
        config: the ``stt`` section for ``whisper``.
        model: replaces the model of ``config`` or of the endpoint; a URL needs one.

    Raises:
        ConfigError: the kind is unknown, or a key or a model is missing.
    """
    if kind == "whisper":
        chosen = config or SttConfig()
        chosen = chosen.model_copy(update={"model": model}) if model else chosen
        return WhisperTranscriber(chosen, languages=languages)
    if kind == "groq":
        endpoint = groq_endpoint(env)
        return EndpointTranscriber(TranscriptionEndpoint(endpoint.base_url, model or endpoint.model, endpoint.api_key))
    if kind.startswith(("http://", "https://")):
        return EndpointTranscriber(TranscriptionEndpoint(kind, model, env.get("OPENAI_API_KEY", "")))
    raise ConfigError(f"unknown recognizer {kind!r}; known: {', '.join(TRANSCRIBER_KINDS)}, or the URL of a server")
