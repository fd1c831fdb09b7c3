"""A whole sound file over a line, for listeners that get files instead of frames."""

from __future__ import annotations

import io
import wave

from duologue.audio.decoding import decode_audio
from duologue.audio.line import Channel
from duologue.audio.pcm import pcm_of
from duologue.records.conditions import FRAME_MS


def carry_clip(channel: Channel, content: bytes) -> bytes:
    """Return what is heard of a sound file, as a WAV file of the channel's rate; a clean channel returns ``content``.

    The file begins when its sound arrives, so that the channel's delay is not in it, and is as long as the sound,
    filled up to a frame. The next one goes on where the noise and the losses of this one ended.

    Raises:
        ValueError: not an audio file that can be read.
    """
    if channel.is_clean:
        return content
    said = pcm_of(decode_audio(content, channel.rate_hz))
    size = channel.frame_bytes
    frames = [said[start : start + size].ljust(size, b"\0") for start in range(0, len(said), size)]
    late = channel.delay_ms // FRAME_MS
    heard = [channel.carry(frame) for frame in [*frames, *[bytes(size)] * late]][late:]
    with io.BytesIO() as file:
        with wave.open(file, "wb") as clip:
            clip.setnchannels(1)
            clip.setsampwidth(2)
            clip.setframerate(channel.rate_hz)
            clip.writeframes(b"".join(heard))
        return file.getvalue()
