"""What every transcriber does, and when an utterance counts as not understood."""

from __future__ import annotations

from typing import Protocol

from duologue.errors import TranscriptionError


class Transcriber(Protocol):
    """Turns the audio file of one utterance into text.

    ``name`` says what produced a transcript, for the trace. An implementation fails at construction when it
    can never work (no key, no model), and never puts anything but what it heard into a transcript.
    """

    @property
    def name(self) -> str:
        """Back end and model."""
        ...

    async def transcribe(self, audio: bytes, language: str) -> str:
        """Return what was said; ``language`` is a hint, an ISO 639-1 code or a tag such as ``pt-BR``.

        Raises:
            TranscriptionError: there is no transcript.
        """
        ...

    async def close(self) -> None:
        """Release connections."""
        ...


async def transcribe_utterance(transcriber: Transcriber, audio: bytes | None, language: str) -> str:
    """Return the transcript of one utterance, without white space around it.

    Raises:
        TranscriptionError: there is no audio, the recognizer failed, or it understood nothing.
    """
    if not audio:
        raise TranscriptionError("the utterance has no audio; nothing else may stand in for it")
    text = (await transcriber.transcribe(audio, language)).strip()
    if not text:
        raise TranscriptionError(f"{transcriber.name} returned a blank transcript for {len(audio)} bytes of audio")
    return text
