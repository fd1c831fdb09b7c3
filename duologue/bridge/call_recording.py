"""What is kept of the sound of a call: what each side heard and, where the line changed it, what was said."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from duologue.audio.recording import RecordingWriter
from duologue.records.action import Side
from duologue.records.event import RecordingWritten
from duologue.records.run_layout import RECORDING, SAID_RECORDING


class CallRecording:
    """The recording of a call, and beside it what was said when it ``keeps_said``.

    Both files have the same form and the same time axis: left is the user's voice, right the agent's.
    """

    def __init__(self, folder: Path, sample_rate_hz: int, *, keeps_said: bool) -> None:
        self._heard = RecordingWriter(folder / RECORDING, sample_rate_hz)
        self._said = RecordingWriter(folder / SAID_RECORDING, sample_rate_hz) if keeps_said else None

    def append(self, said: Mapping[Side, bytes], heard: Mapping[Side, bytes]) -> None:
        """Add what the sides said, and what they heard, in the same stretch of time."""
        self._heard.append(heard[Side.AGENT], heard[Side.USER])
        if self._said is not None:
            self._said.append(said[Side.USER], said[Side.AGENT])

    def close(self) -> RecordingWritten:
        """Finish the files and return what says so. Closing twice is harmless."""
        heard = self._heard.close()
        said = self._said.close() if self._said is not None else None
        return RecordingWritten(
            path=heard.path.name,
            sha256=heard.sha256,
            sample_rate_hz=heard.sample_rate_hz,
            samples=heard.samples,
            said_path=said.path.name if said is not None else "",
            said_sha256=said.sha256 if said is not None else "",
        )
