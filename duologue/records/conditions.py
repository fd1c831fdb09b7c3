"""What happens to sound on its way between the two sides of a call, as data."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Literal

from pydantic import Field, SerializerFunctionWrapHandler, field_validator, model_serializer, model_validator

from duologue.records.record import Record

FRAME_MS = 20
"""What a line carries at once, and what it loses at once."""

LONGEST_DELAY_MS = 1000
"""A one-way delay at which nobody talks any longer; ITU-T G.114 asks for 400 ms at most."""

CLEAN_NAME = "clean"


class SteadyNoise(Record):
    """Steady noise at the speaker's place.

    ``level_dbfs`` is its RMS level in dB below full scale as the microphone picks it up: before the band, and whatever
    the speaker says. ``pink`` falls by 3 dB per octave, as rooms and streets roughly do; ``white`` is flat.
    """

    kind: Literal["white", "pink"] = "pink"
    level_dbfs: float = Field(ge=-90, le=-10)


class Band(Record):
    """The band that passes, in Hz; by default that of a telephone. It falls by 24 dB per octave on either side."""

    low_hz: float = Field(default=300, ge=20, le=7000)
    high_hz: float = Field(default=3400, ge=200, le=7900)

    @model_validator(mode="after")
    def _check(self) -> Band:
        if self.high_hz < 1.5 * self.low_hz:
            raise ValueError(f"high_hz {self.high_hz:g} must be at least 1.5 times low_hz {self.low_hz:g}")
        return self


class Loss(Record):
    """Frames of 20 ms that do not arrive; silence takes their place.

    ``rate`` is the share that is lost, ``burst_ms`` how long a loss lasts on average (Gilbert's model of two states).
    """

    rate: float = Field(gt=0, lt=1)
    burst_ms: float = Field(default=60, ge=FRAME_MS, le=10_000)

    @model_validator(mode="after")
    def _check(self) -> Loss:
        shortest = self.rate / (1 - self.rate)
        if self.burst_ms < FRAME_MS * shortest:
            raise ValueError(
                f"a rate of {self.rate:g} needs bursts of {FRAME_MS * shortest:g} ms at least; raise burst_ms"
            )
        return self


class ChannelConditions(Record):
    """One direction of a line. What is not named does not happen.

    ``gain_db`` is how much louder or softer the speaker is, ``delay_ms`` how long the sound is under way, in whole
    frames of 20 ms. The order is that of a telephone: gain and noise at the speaker's place, band, loss, delay.
    """

    gain_db: float = Field(default=0, ge=-60, le=40)
    noise: SteadyNoise | None = None
    band: Band | None = None
    loss: Loss | None = None
    delay_ms: int = Field(default=0, ge=0, le=LONGEST_DELAY_MS, multiple_of=FRAME_MS)

    @property
    def is_clean(self) -> bool:
        """Whether sound passes untouched and at once."""
        return self == _NOTHING

    @model_serializer(mode="wrap")
    def _without_unused(self, handler: SerializerFunctionWrapHandler) -> dict[str, object]:
        return {key: value for key, value in handler(self).items() if value}


_NOTHING = ChannelConditions()


class LineConditions(Record):
    """Both directions of a line under a name: ``to_agent`` is what the user says, ``to_user`` what the agent says.

    ``both`` instead of the two says the same for either. A line on which nothing happens is called ``clean``, and no
    other one is.
    """

    name: str = Field(default=CLEAN_NAME, pattern=r"^[a-z0-9][a-z0-9_-]*$", max_length=40)
    to_agent: ChannelConditions = _NOTHING
    to_user: ChannelConditions = _NOTHING

    @model_validator(mode="before")
    @classmethod
    def _read_both(cls, data: object) -> object:
        if not isinstance(data, Mapping) or "both" not in data:
            return data
        rest = {key: value for key, value in data.items() if key != "both"}
        if "to_agent" in rest or "to_user" in rest:
            raise ValueError("both stands for to_agent and to_user; leave out either the one or the two")
        return {**rest, "to_agent": data["both"], "to_user": data["both"]}

    @field_validator("to_agent", "to_user", mode="before")
    @classmethod
    def _read_empty(cls, value: object) -> object:
        return {} if value is None else value

    @model_validator(mode="after")
    def _check(self) -> LineConditions:
        has_effect = not (self.to_agent.is_clean and self.to_user.is_clean)
        if has_effect and self.name == CLEAN_NAME:
            raise ValueError(f"a line on which something happens needs a name other than {CLEAN_NAME!r}; set name")
        if not has_effect and self.name != CLEAN_NAME:
            raise ValueError(f"nothing happens on the line {self.name!r}; say what under both, to_agent or to_user")
        return self

    @property
    def is_clean(self) -> bool:
        """Whether both directions are."""
        return self.name == CLEAN_NAME

    @property
    def digest(self) -> str:
        """SHA-256 of the name and of everything that happens; equal for equal conditions only."""
        text = json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    @model_serializer(mode="wrap")
    def _without_unused(self, handler: SerializerFunctionWrapHandler) -> dict[str, object]:
        data = {key: value for key, value in handler(self).items() if value}
        return {} if self.is_clean else data


CLEAN = LineConditions()
