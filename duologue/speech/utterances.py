"""The sound of what a caller says."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path

from duologue.errors import FixtureError
from duologue.records.caller import ClipSource
from duologue.state.fixtures import data_file

Speaker = Callable[[ClipSource], bytes]
"""Makes the audio file of an utterance that is given as text."""


def utterance_audio(utterance: ClipSource, speak: Speaker | None = None) -> bytes | None:
    """Return the audio file of an utterance, or None when it has neither sound nor words.

    Raises:
        FixtureError: the file is missing or empty, the base64 is broken, or there is only text and nobody to speak it.
    """
    if utterance.audio is not None:
        return _read(utterance.audio)
    if utterance.audio_b64 is not None:
        try:
            return base64.b64decode(utterance.audio_b64, validate=True) or None
        except ValueError as error:
            raise FixtureError(f"the audio of an utterance is not base64 ({error})") from error
    if utterance.text is None:
        return None
    if speak is None:
        raise FixtureError(f"the utterance {utterance.text[:60]!r} has no sound file, and no voice was configured")
    return speak(utterance)


def _read(name: str) -> bytes:
    path = Path(name) if Path(name).is_absolute() else data_file(name)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise FixtureError(f"{path}: {error.strerror or error}") from error
    if not content:
        raise FixtureError(f"{path}: the sound file is empty")
    return content
