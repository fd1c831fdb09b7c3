"""Between a bot's bursts of sound and a steady call: what was sent, in order, one tick at a time. Pure."""

from __future__ import annotations

from duologue.audio.pcm import StreamResampler
from duologue.protocol.messages import SAMPLE_RATE_HZ, TICK_MS, AudioChunk

TICK_BYTES = 2 * SAMPLE_RATE_HZ * TICK_MS // 1000
EMPTY_TICKS = 5
"""After more empty ticks in a row than this, a bot has stopped speaking and the next sound is delayed again."""

MAX_AHEAD_S = 300  # nobody speaks for five minutes: such a bot floods the line, and 10 MB are held by then
_BYTES_A_MS = 2 * SAMPLE_RATE_HZ // 1000


class JitterBuffer:
    """A bot's sound on the way to the other side, as 16 kHz mono.

    The first sound after silence is held for ``delay_ms``; what follows is played as it was sent, however early it
    came, and silence fills what is missing. ``gaps`` counts the times that sound came too late.

    Args:
        delay_ms: how late sound may come without being missed.
        skips_silence: for a bot that sends silence as well: digital silence beyond the delay is left out, so that a
            bot that was slow once is not late for ever.
    """

    def __init__(self, delay_ms: int, *, skips_silence: bool = False) -> None:
        self.skips_silence = skips_silence
        self.gaps = 0
        self._delay_ms = delay_ms
        self._resampler = StreamResampler(SAMPLE_RATE_HZ)
        self._pcm = bytearray()
        self._is_playing = False
        self._waited_ms = 0
        self._empty = 0

    @property
    def ahead_ms(self) -> int:
        """How much sound is waiting."""
        return len(self._pcm) // _BYTES_A_MS

    def push(self, chunk: AudioChunk) -> None:
        """Take what a bot sent.

        Raises:
            ValueError: more than five minutes of sound are waiting.
        """
        if self._is_playing and self._empty and chunk.pcm:
            self.gaps += 1
        self._pcm += self._resampler.push(chunk.pcm, chunk.sample_rate_hz, chunk.num_channels)
        if self.ahead_ms > MAX_AHEAD_S * 1000:
            raise ValueError(f"more than {MAX_AHEAD_S} s of sound ahead of time")

    def drop(self) -> None:
        """Forget what was not played, because the bot was interrupted."""
        self._resampler.flush()
        self._pcm.clear()
        self._stop()

    def pop(self) -> bytes:
        """Return the next tick of sound or silence."""
        if not self._is_playing and not self._starts():
            return bytes(TICK_BYTES)
        if self.skips_silence:
            self._catch_up()
        if len(self._pcm) < TICK_BYTES:
            self._pcm += self._resampler.flush()
        tick = bytes(self._pcm[:TICK_BYTES])
        del self._pcm[:TICK_BYTES]
        self._empty = 0 if tick else self._empty + 1
        if self._empty > EMPTY_TICKS:
            self._stop()
        return tick.ljust(TICK_BYTES, b"\0")

    def _starts(self) -> bool:
        if not self._pcm:
            return False
        self._is_playing = self._waited_ms >= self._delay_ms
        self._waited_ms += TICK_MS
        return self._is_playing

    def _stop(self) -> None:
        self._is_playing = False
        self._waited_ms = self._empty = 0

    def _catch_up(self) -> None:
        while self.ahead_ms > self._delay_ms + TICK_MS and not any(self._pcm[:TICK_BYTES]):
            del self._pcm[:TICK_BYTES]
