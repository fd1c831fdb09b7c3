"""From the utterances of a frozen caller to the sound that a call plays."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from duologue.audio.decoding import decode_audio
from duologue.audio.pcm import pcm_of
from duologue.bridge.frozen_caller import Recording
from duologue.config import load_bot_config
from duologue.errors import FixtureError
from duologue.protocol.messages import SAMPLE_RATE_HZ
from duologue.records.caller import FrozenUtterance
from duologue.records.scenario import Scenario
from duologue.speech.spoken import SpokenUtterances
from duologue.speech.utterances import Speaker, utterance_audio

SPEECH_CACHE = "speech_cache"
"""Folder beside the runs in which spoken utterances are kept."""


def load_recordings(scenario: Scenario, speak: Speaker | None) -> tuple[Recording, ...]:
    """Return the sound of a scenario's frozen caller; nothing when its caller is a bot.

    Raises:
        FixtureError: an utterance has no sound, or one that cannot be read or spoken; the message says which.
        ConfigError: the synthesizer is missing.
    """
    return tuple(
        _load(scenario, number, utterance, speak)
        for number, utterance in enumerate(scenario.caller.utterances, start=1)
    )


def build_speaker(scenarios: Iterable[Scenario], user_config: Path, folder: Path) -> Speaker | None:
    """Return what speaks the texts of frozen callers, in the user bot's voice; None when none is a text.

    Raises:
        ConfigError: the user bot's configuration cannot be read.
    """
    utterances = (utterance for scenario in scenarios for utterance in scenario.caller.utterances)
    if all(utterance.text is None for utterance in utterances):
        return None
    return SpokenUtterances(load_bot_config(user_config).tts, folder)


def _load(scenario: Scenario, number: int, utterance: FrozenUtterance, speak: Speaker | None) -> Recording:
    where = f"{scenario.name}: utterance {number} of the caller"
    try:
        content = utterance_audio(utterance, speak)
    except FixtureError as error:
        raise FixtureError(f"{where}: {error}") from error
    if content is None:
        raise FixtureError(f"{where}: no audio; give audio, audio_b64 or text")
    try:
        samples = decode_audio(content, SAMPLE_RATE_HZ)
    except ValueError as error:
        raise FixtureError(f"{where}: {utterance.audio or 'its audio'}: {error}") from error
    if not len(samples):
        raise FixtureError(f"{where}: {utterance.audio or 'its audio'} holds no sound")
    return Recording(pcm_of(samples), utterance.start, utterance.transcript or utterance.text or "")
