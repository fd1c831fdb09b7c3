"""Session time and the work of services that are not ours."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

from pipecat.frames.frames import Frame, InterimTranscriptionFrame, TranscriptionFrame
from pipecat.utils.time import time_now_iso8601

from duologue.bots.charging import charge_session, charged_s
from duologue.bots.media_clock import CLOCK
from duologue.config import SttConfig, TtsConfig

Run = Callable[..., AsyncIterator[Frame | None]]


def keep_time(service: object, method: str, config: SttConfig | TtsConfig) -> None:
    """Let ``service`` cost session time as configured, and stop that time during its work with ``hold``.

    Without a session clock, in real time, nothing changes: its work takes as long as it takes.

    Args:
        service: an STT or TTS service.
        method: its generator: ``run_stt`` or ``run_tts``.
        config: the section that names it.
    """
    if config.hold or config.charge != "zero":
        setattr(service, method, _timed(getattr(service, method), config))


def _timed(run: Run, config: SttConfig | TtsConfig) -> Run:
    async def timed(*args: object) -> AsyncIterator[Frame | None]:
        clock = CLOCK.get()
        if clock is None:
            async for frame in run(*args):
                yield frame
            return
        if config.hold:
            frames = await clock.real(lambda: _bounded(run, args, config), charge_s=charged_s(config.charge))
            _date_transcripts(frames)
        else:
            async with charge_session(config.charge):
                frames = await _collected(run, args)
        for frame in frames:
            yield frame

    return timed


def _date_transcripts(frames: list[Frame | None]) -> None:
    """Replace the real time of transcripts, which were made outside the session, with the session's."""
    for frame in frames:
        if isinstance(frame, TranscriptionFrame | InterimTranscriptionFrame):
            frame.timestamp = time_now_iso8601()


async def _bounded(run: Run, args: tuple[object, ...], config: SttConfig | TtsConfig) -> list[Frame | None]:
    try:
        async with asyncio.timeout(config.hold_timeout_s):
            return await _collected(run, args)
    except TimeoutError as error:
        raise TimeoutError(f"{config.service} took longer than hold_timeout_s, {config.hold_timeout_s:g} s") from error


async def _collected(run: Run, args: tuple[object, ...]) -> list[Frame | None]:
    return [frame async for frame in run(*args)]
