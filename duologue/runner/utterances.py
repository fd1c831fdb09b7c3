"""From what a caller can say to the sound that a call plays."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from duologue.audio.decoding import decode_audio
from duologue.audio.pcm import pcm_of
from duologue.bridge.clip import Clip
from duologue.config import load_bot_config
from duologue.errors import FixtureError
from duologue.protocol.messages import SAMPLE_RATE_HZ
from duologue.records.caller import ClipSource
from duologue.records.scenario import Scenario
from duologue.speech.spoken import SpokenUtterances
from duologue.speech.utterances import Speaker, utterance_audio


def load_clips(scenario: Scenario, speak: Speaker | None) -> dict[str, Clip]:
    """Return the sound of everything that a scenario's caller can play, by name; nothing when its caller is a bot.

    Raises:
        FixtureError: something has no sound, or one that cannot be read or spoken; the message says which.
        ConfigError: the synthesizer is missing.
    """
    caller = scenario.caller
    return {
        name: _load(f"{scenario.name}: {caller.unit} {name} of the caller", source, speak)
        for name, source in caller.sounds.items()
    }


def build_speaker(scenarios: Iterable[Scenario], user_config: Path, folder: Path) -> Speaker | None:
    """Return what speaks the texts of callers, in the user bot's voice; None when none is a text.

    Raises:
        ConfigError: the user bot's configuration cannot be read.
    """
    if all(source.text is None for scenario in scenarios for source in scenario.caller.sounds.values()):
        return None
    return SpokenUtterances(load_bot_config(user_config).tts, folder)


def _load(where: str, utterance: ClipSource, speak: Speaker | None) -> Clip:
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
    return Clip(pcm_of(samples), utterance.transcript or utterance.text or "")
