"""A processor of one's own: it corrects what the recognizer usually gets wrong before the brain reads it.

In a bot's configuration:

    processors:
      - at: after_stt
        processor: own_processor:Corrections
        settings: {words: {"eye phone": "iPhone"}}
"""

from __future__ import annotations

import re

from pipecat.frames.frames import Frame, TranscriptionFrame
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor


class Corrections(FrameProcessor):
    """Replaces words in transcripts, whatever their case; everything else passes untouched."""

    def __init__(self, *, words: dict[str, str]) -> None:
        super().__init__()
        self._words = {re.compile(rf"\b{re.escape(wrong)}\b", re.IGNORECASE): right for wrong, right in words.items()}

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, TranscriptionFrame):
            for wrong, right in self._words.items():
                frame.text = wrong.sub(right, frame.text)
        await self.push_frame(frame, direction)
