"""Who calls: a live caller, recordings in a fixed order, or a state machine over a bank of clips; as data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field, JsonValue, model_validator

from duologue.records.record import Record

__all__ = ["Caller", "ClipSource", "FrozenUtterance", "LiveCaller", "MachineCaller", "RecordedCaller", "UtteranceStart"]


class UtteranceStart(Record):
    """When a recorded utterance starts; exactly one of the three is set.

    ``after_turn``: once the agent's turn has ended. ``at_ms``: at this media time. ``over_ms``: this long after the
    agent began to speak, over its words.
    """

    after_turn: bool = False
    at_ms: int | None = Field(default=None, ge=0)
    over_ms: int | None = Field(default=None, ge=0)

    @model_validator(mode="after")
    def _check(self) -> UtteranceStart:
        if [self.after_turn, self.at_ms is not None, self.over_ms is not None].count(True) != 1:
            raise ValueError("an utterance starts after_turn, at_ms or over_ms: give exactly one")
        return self


class ClipSource(Record):
    """Where the sound of something that a caller says comes from, and what is said in it.

    Args:
        audio: sound file: a path under the data root, or an absolute one for the user's own data.
        audio_b64: the sound file itself in base64, instead of ``audio``.
        text: words to be spoken once by the configured TTS, when there is no sound file.
        voice: settings of that TTS.
        transcript: what is said, for scoring; no bot ever gets it.
        language: code of the spoken language, the hint for recognisers.

    Without audio and text it cannot be played: the attempt ends with an error that says so.
    """

    audio: str | None = None
    audio_b64: str | None = Field(default=None, repr=False)
    text: str | None = None
    voice: dict[str, object] = Field(default_factory=dict)
    transcript: str = ""
    language: str = "en"

    @model_validator(mode="after")
    def _check_source(self) -> ClipSource:
        if sum(source is not None for source in (self.audio, self.audio_b64, self.text)) > 1:
            raise ValueError("an utterance has one source: audio, audio_b64 or text")
        return self


class FrozenUtterance(ClipSource):
    """One recorded turn of a recorded caller; ``start`` is when it is played."""

    start: UtteranceStart = UtteranceStart(after_turn=True)


class LiveCaller(Record):
    """A user bot, or a person in its place."""

    kind: Literal["live"] = "live"
    what: ClassVar[str] = "a bot"
    takes_bot: ClassVar[bool] = True
    machine: ClassVar[str] = ""
    opens_call: ClassVar[bool] = False
    is_fixed: ClassVar[bool] = False
    max_turns: ClassVar[int | None] = None
    language: ClassVar[str | None] = None
    utterances: ClassVar[tuple[FrozenUtterance, ...]] = ()
    sounds: ClassVar[Mapping[str, ClipSource]] = {}
    unit: ClassVar[str] = "utterance"


class RecordedCaller(Record):
    """Recordings that are played in their order, whatever the agent answers."""

    kind: Literal["recorded"] = "recorded"
    utterances: tuple[FrozenUtterance, ...] = Field(min_length=1)
    what: ClassVar[str] = "a recording"
    machine: ClassVar[str] = ""
    takes_bot: ClassVar[bool] = False
    opens_call: ClassVar[bool] = True
    is_fixed: ClassVar[bool] = True
    unit: ClassVar[str] = "utterance"

    @property
    def max_turns(self) -> int:
        """How many turns the caller leaves to the agent at most."""
        return len(self.utterances)

    @property
    def language(self) -> str:
        """The language that the caller begins in."""
        return self.utterances[0].language

    @property
    def sounds(self) -> Mapping[str, ClipSource]:
        """What is played, by its number from 1."""
        return {str(number): utterance for number, utterance in enumerate(self.utterances, start=1)}


class MachineCaller(Record):
    """A state machine that plays clips in answer to what happens on the line.

    Args:
        machine: its name among the caller machines of the scenario's domain.
        clips: what it can play, by name; a clip's ``transcript`` (or ``text``) is what it says without sound.
        settings: what the machine is given.
        opens_call: whether it speaks first; otherwise the agent is asked for a greeting.
    """

    kind: Literal["machine"] = "machine"
    machine: str
    clips: dict[str, ClipSource] = Field(min_length=1)
    settings: dict[str, JsonValue] = Field(default_factory=dict)
    opens_call: bool = False
    what: ClassVar[str] = "a state machine"
    takes_bot: ClassVar[bool] = False
    is_fixed: ClassVar[bool] = False
    max_turns: ClassVar[int | None] = None
    utterances: ClassVar[tuple[FrozenUtterance, ...]] = ()
    unit: ClassVar[str] = "clip"

    @property
    def language(self) -> str:
        """The language of the first clip."""
        return next(iter(self.clips.values())).language

    @property
    def sounds(self) -> Mapping[str, ClipSource]:
        """What can be played, by name."""
        return self.clips


Caller = Annotated[LiveCaller | RecordedCaller | MachineCaller, Field(discriminator="kind")]
"""Who calls. Every member answers the same questions, so that nobody has to ask which one it is:

``what``: for messages ("its caller is …"). ``takes_bot``: whether a user bot or a person takes part. ``opens_call``:
whether it speaks first. ``is_fixed``: whether what it says and in which order is known before the call, so that an
agent without a line can be given it turn by turn (``utterances``). ``max_turns``: how many turns it leaves to the agent
at most, None when nothing bounds them. ``language``: None when nobody knows it before the call. ``sounds``: all that
it can play, by name; ``unit``: what one of these is called. ``machine``: the name of the domain's machine behind it.
"""

STORED_RECORDINGS = "frozen_caller"
"""The key under which a stored scenario holds the utterances of a recorded caller."""


def read_stored_caller(data: Mapping[str, object]) -> dict[str, object]:
    """Return the fields of a scenario with its stored recordings as a ``caller``.

    Raises:
        ValueError: both are given.
    """
    fields = dict(data)
    utterances = fields.pop(STORED_RECORDINGS, None)
    if utterances is None:
        return fields
    if "caller" in fields:
        raise ValueError(f"give caller or {STORED_RECORDINGS}, not both")
    fields["caller"] = {"kind": "recorded", "utterances": utterances}
    return fields


def stored_caller(kind: str, data: dict[str, object]) -> dict[str, object]:
    """Return what of a serialized caller is stored: nothing of a live one, of a recorded one only its utterances."""
    match kind:
        case "live":
            return {}
        case "recorded":
            return {STORED_RECORDINGS: data["utterances"]}
        case _:
            return {"caller": {**data, "kind": kind}}
