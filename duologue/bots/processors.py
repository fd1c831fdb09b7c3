"""Own FrameProcessors at named places of the pipeline."""

from __future__ import annotations

from pipecat.processors.frame_processor import FrameProcessor

from duologue.bots.plugs import Plug
from duologue.config import BotConfig


def build_processors(config: BotConfig) -> dict[str, list[FrameProcessor]]:
    """Return a session's own processors by place, each place in the order of the file.

    Raises:
        ConfigError: one cannot be imported, is no FrameProcessor, or refuses its settings.
    """
    built: dict[str, list[FrameProcessor]] = {}
    for number, entry in enumerate(config.processors):
        plug = Plug(entry.processor, f"processors.{number}.processor", entry.settings, config.source)
        built.setdefault(entry.at, []).append(plug.make(FrameProcessor))
    return built
