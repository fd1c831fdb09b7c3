"""The sound of one thing that a caller says, cut into ticks."""

from __future__ import annotations

from dataclasses import dataclass

from duologue.protocol.messages import TICK_MS, TICK_SAMPLES

_TICK_BYTES = 2 * TICK_SAMPLES
SILENT_TICK = bytes(_TICK_BYTES)


@dataclass(frozen=True, slots=True)
class Clip:
    """What is played.

    Args:
        pcm: 16 kHz mono s16; the last tick is filled up with silence.
        transcript: the words in it, spread over it for the trace; empty when nobody knows them.
    """

    pcm: bytes
    transcript: str = ""

    @property
    def ticks(self) -> int:
        """Length in ticks."""
        return -(-len(self.pcm) // _TICK_BYTES)

    @property
    def duration_ms(self) -> int:
        """Length in milliseconds, in whole ticks."""
        return self.ticks * TICK_MS

    def tick(self, number: int) -> bytes:
        """Return the sound of one tick."""
        return self.pcm[number * _TICK_BYTES : (number + 1) * _TICK_BYTES].ljust(_TICK_BYTES, b"\0")

    def words(self) -> dict[int, str]:
        """Return the words by the tick in which each is over, spread by their length."""
        words = self.transcript.split()
        total, so_far = sum(len(word) + 1 for word in words), 0
        spread: dict[int, str] = {}
        for word in words:
            so_far += len(word) + 1
            last = max(0, -(-so_far * self.ticks // total) - 1)
            spread[last] = spread.get(last, "") + word + " "
        return spread
