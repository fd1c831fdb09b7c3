"""Text to speech: a local voice's words, each pushed with its audio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

from pipecat.frames.frames import AggregatedTextFrame, Frame, TTSAudioRawFrame, TTSTextFrame
from pipecat.services.settings import TTSSettings
from pipecat.services.tts_service import TTSService
from pipecat.utils.text.base_text_aggregator import TextType

from duologue.bots.charging import charge_session
from duologue.config import TtsConfig
from duologue.speech.voice import SpokenWord, Voice


class VoiceTts(TTSService):
    """Speaks sentence by sentence; each word's text follows its audio, so it is reported once it was played.

    Args:
        voice: the process's engine.
        config: the ``tts`` section.
        rate_hz: output sample rate in Hz.
    """

    def __init__(self, voice: Voice, config: TtsConfig, rate_hz: int) -> None:
        super().__init__(
            sample_rate=rate_hz,
            push_start_frame=True,
            push_stop_frames=True,
            max_consecutive_zero_audio_contexts=0,
            settings=TTSSettings(model=config.type, voice=config.voice_name, language=None),
        )
        self._voice = voice
        self._config = config

    async def run_tts(self, text: str, context_id: str) -> AsyncIterator[Frame]:
        """Yield the audio of each word, then the word."""
        loop = asyncio.get_running_loop()
        async with charge_session(self._config.charge):
            words = await loop.run_in_executor(None, self._voice.speak, text)
        for frame in self._frames(words, context_id):
            yield frame

    def _frames(self, words: tuple[SpokenWord, ...], context_id: str) -> Iterator[Frame]:
        context = self._tts_contexts.get(context_id)
        for word in words:
            if word.audio:
                yield TTSAudioRawFrame(word.audio, self.sample_rate, 1, context_id=context_id)
            frame = TTSTextFrame(word.text, text_type=TextType.WORD)
            frame.will_be_spoken = True
            frame.context_id = context_id
            frame.includes_inter_frame_spaces = True
            frame.append_to_context = context.append_to_context if context else True
            yield frame

    async def _push_spoken_text(
        self, src_frame: AggregatedTextFrame, text: str, context_id: str, append_to_context: bool
    ) -> None:
        """The words were pushed with their audio; only release what waits for the sentence."""
        for frame in self._aggregated_frame_sequencer.complete_spoken_slot():
            await self.push_frame(frame)
