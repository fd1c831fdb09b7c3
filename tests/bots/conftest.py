"""A real bot in this process: real sockets, real speech, a session clock, and a brain that the test gives."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import duologue.bots.context
from duologue.bots.services import Models, load_models
from duologue.brains.reply import BrainReply
from duologue.config import BotConfig, TtsConfig
from duologue.speech.hibari import HibariVoice
from tests.bots.running_bot import RunningBot

Decide = Callable[[list[dict], list[str]], BrainReply]
TOY = Path(__file__).parents[1] / "toy_domain"


@pytest.fixture(scope="session", autouse=True)
def heating() -> Iterator[None]:
    """Let the toy domain be found the way a user's own domain is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DUOLOGUE_DOMAINS", os.pathsep.join([str(TOY)]))
        yield


@pytest.fixture(scope="session")
def models() -> Models:
    return load_models(BotConfig())


@pytest.fixture(scope="session")
def caller() -> Callable[[str], bytes]:
    """The other side's voice: a sentence as 16 kHz s16 audio."""
    voice = HibariVoice(TtsConfig(pitch=0.8), 16000)
    return lambda text: b"".join(word.audio for word in voice.speak(text))


@pytest.fixture
def start_bot(models: Models, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., RunningBot]]:
    """Start a bot whose brain is the given function of messages and tools."""
    with contextlib.ExitStack() as stack:

        def start(decide: Decide | None = None, shared: Models = models, **sections: dict) -> RunningBot:
            brain = decide or (lambda messages, tools: BrainReply())
            monkeypatch.setattr(duologue.bots.context, "build_brain", lambda kind, payload, settings: _Given(brain))
            config = BotConfig.model_validate({"server": {"port": 0}, **sections})
            return stack.enter_context(RunningBot(config, shared))

        yield start


class _Given:
    def __init__(self, decide: Decide) -> None:
        self.decide = decide
