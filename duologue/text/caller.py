"""A caller that no bot holds, on the text channel: the words of what it plays are its lines."""

from __future__ import annotations

from collections.abc import Iterator

from duologue.brains.reply import BrainReply
from duologue.bridge.caller import Caller, build_player
from duologue.bridge.clip import Clip
from duologue.bridge.exit_drain import BotActivity
from duologue.bridge.settings import CallSettings
from duologue.errors import FixtureError
from duologue.protocol.messages import SAMPLE_RATE_HZ, TICK_MS
from duologue.records.event import BotSpeaking, UtterancePlayed
from duologue.records.scenario import Scenario

MS_PER_WORD = 350
"""Media time of a word: about 170 words a minute."""
_MAX_SILENCE_MS = 10_000
"""How long a caller may say nothing before the turn is the agent's again; longer than a recorded caller's patience."""


class TextCaller:
    """A brain of the user's side that plays the scenario's caller over silent clips, as long as their words take.

    The agent talks until the caller breaks in, and is silent from then on.

    Args:
        scenario: its caller is no bot.
        caller: the scenario's caller, with clips of :func:`silent_clips`.
    """

    def __init__(self, scenario: Scenario, caller: Caller) -> None:
        sounds = scenario.caller.sounds
        self._lines = {name: source.transcript or source.text or "" for name, source in sounds.items()}
        self._caller = caller
        self._t_ms = 0
        self._n_heard = 0
        self._played: list[UtterancePlayed] = []

    @property
    def has_hung_up(self) -> bool:
        """Whether the caller is gone."""
        return self._caller.has_hung_up

    def take_played(self) -> list[UtterancePlayed]:
        """Return what was played in the last turn."""
        played, self._played = self._played, []
        return played

    def decide(self, messages: list[dict[str, object]], tools: list[str]) -> BrainReply:
        """Hear what the agent said since the last turn, and return what the caller says about it."""
        heard = [str(message["content"]) for message in messages if message["role"] == "user"]
        talk = self._talk(" ".join(heard[self._n_heard :]).split())
        self._n_heard = len(heard)
        lines: list[str] = []
        quiet_ms = 0
        while quiet_ms < _MAX_SILENCE_MS and not self._caller.has_hung_up:
            is_audible = not lines and next(talk, False)
            quiet_ms = 0 if is_audible else quiet_ms + TICK_MS
            _, events = self._caller.step(self._t_ms, BotActivity(is_audible=is_audible))
            self._t_ms += TICK_MS
            begun = [event for event in events if isinstance(event, UtterancePlayed)]
            self._played += begun
            lines += [self._lines[event.clip or str(event.index + 1)] for event in begun]
            if not begun and any(isinstance(event, BotSpeaking) and not event.speaking for event in events):
                break
            if lines:
                quiet_ms = 0
        return BrainReply(" ".join(lines))

    def _talk(self, words: list[str]) -> Iterator[bool]:
        """Yield True for every tick in which the agent is heard."""
        for number, word in enumerate(words, start=1):
            for _ in range((number - 1) * MS_PER_WORD // TICK_MS, number * MS_PER_WORD // TICK_MS):
                yield True
            self._caller.hear(word + " ")


def silent_clips(scenario: Scenario) -> dict[str, Clip]:
    """Return clips without sound, as long as their words take.

    Raises:
        FixtureError: the words of one are not known.
    """
    clips = {}
    for name, source in scenario.caller.sounds.items():
        words = (source.transcript or source.text or "").split()
        if not words:
            unit = scenario.caller.unit
            raise FixtureError(f"{scenario.name}: {unit} {name} of the caller: no transcript, so no line of text")
        clips[name] = Clip(bytes(2 * SAMPLE_RATE_HZ * MS_PER_WORD * len(words) // 1000), " ".join(words))
    return clips


def build_text_caller(scenario: Scenario, seed: str) -> TextCaller | None:
    """Return the caller of a text call; None for one that a bot holds.

    Raises:
        FixtureError: the words of something that it plays are not known.
        RegistryError: the domain does not have the caller's machine.
    """
    settings = CallSettings(agent_url="", user_url="", max_duration_s=scenario.max_duration_s)
    caller = build_player(scenario, silent_clips(scenario), settings, seed)
    return TextCaller(scenario, caller) if caller is not None else None
