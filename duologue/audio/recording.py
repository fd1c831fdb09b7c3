"""The recording of a call: two sample-aligned tracks, streamed into one WAV file."""

from __future__ import annotations

import hashlib
import struct
import wave
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from duologue.audio.pcm import Samples, samples_of

_HEADER_BYTES = 44  # RIFF, fmt and the head of data, as RIFF/WAVE lays them out for PCM
_PATCH_EVERY = 50  # ticks: the header is right at least once a second, so that a cut recording can be read
_FRAME_BYTES = 4  # two tracks of 16 bits
_LOWEST_HZ, _HIGHEST_HZ = 4_000, 384_000


@dataclass(frozen=True, slots=True)
class RecordingInfo:
    """A finished recording."""

    path: Path
    sha256: str
    sample_rate_hz: int
    samples: int


@dataclass(frozen=True, slots=True)
class Tracks:
    """A recording in memory: what the agent heard, and what the user heard."""

    agent_heard: Samples
    user_heard: Samples
    sample_rate_hz: int


class RecordingWriter:
    """Writes what both sides hear, tick by tick. Left is what the agent hears, right is what the user hears.

    The header is brought up to date once a second, so that a file left by a crash opens as it is.
    """

    def __init__(self, path: Path, sample_rate_hz: int) -> None:
        self.path = path
        self.sample_rate_hz = sample_rate_hz
        self.samples = 0
        self._ticks = 0
        self._file = path.open("wb")
        self._wave = wave.open(self._file, "wb")  # noqa: SIM115 - closed by close()
        self._wave.setnchannels(2)
        self._wave.setsampwidth(2)
        self._wave.setframerate(sample_rate_hz)
        self._wave.writeframes(b"")

    def append(self, agent_heard: bytes, user_heard: bytes) -> None:
        """Add the same stretch of time to both tracks.

        Raises:
            ValueError: the two stretches differ in length.
        """
        left, right = samples_of(agent_heard), samples_of(user_heard)
        frames = np.column_stack((left, right)).tobytes()
        self.samples += len(left)
        self._ticks += 1
        if self._ticks % _PATCH_EVERY:
            self._wave.writeframesraw(frames)
        else:
            self._wave.writeframes(frames)
            self._file.flush()

    def close(self) -> RecordingInfo:
        """Finish the file and return what it holds. Closing twice is harmless."""
        if not self._file.closed:
            self._wave.close()
            self._file.close()
        with self.path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return RecordingInfo(self.path, digest, self.sample_rate_hz, self.samples)


def recover_recording(path: Path) -> int:
    """Make the header agree with the data of a file that was never closed; return the samples per track.

    Raises:
        ValueError: not a recording of ours.
    """
    data_bytes = path.stat().st_size - _HEADER_BYTES
    with path.open("r+b") as file:
        head = file.read(_HEADER_BYTES)
        if len(head) < _HEADER_BYTES or head[:4] != b"RIFF" or head[36:40] != b"data":
            raise ValueError(f"{path}: not a recording")
        data_bytes -= data_bytes % 4
        file.seek(4)
        file.write(struct.pack("<I", data_bytes + _HEADER_BYTES - 8))
        file.seek(40)
        file.write(struct.pack("<I", data_bytes))
        file.truncate(_HEADER_BYTES + data_bytes)
    return data_bytes // 4


def read_recording(path: Path) -> Tracks:
    """Read both tracks; a sample that a crash left incomplete at the end is dropped.

    Raises:
        ValueError: not a stereo 16-bit WAV file.
        OSError: the file cannot be read.
    """
    try:
        with wave.open(str(path), "rb") as file:
            if file.getnchannels() != 2 or file.getsampwidth() != 2:
                raise ValueError(f"{path}: expected stereo, 16 bit")
            rate = file.getframerate()
            if not _LOWEST_HZ <= rate <= _HIGHEST_HZ:
                raise ValueError(f"{path}: {rate} samples a second are no recording of speech")
            data = file.readframes(file.getnframes())
            frames = samples_of(data[: len(data) - len(data) % _FRAME_BYTES]).reshape(-1, 2)
    except (wave.Error, EOFError) as error:
        raise ValueError(f"{path}: not a WAV file ({error})") from error
    return Tracks(frames[:, 0].copy(), frames[:, 1].copy(), rate)
