"""Own brains by ``module:Class``: pure ones, and LLM services of Pipecat."""

from __future__ import annotations

from typing import Any

from pipecat.services.llm_service import LLMService

from duologue.bots.plugs import plug_in
from duologue.brains.brain import Brain
from duologue.config import BotConfig
from duologue.errors import ConfigError


def brain_class(config: BotConfig) -> type[Any]:
    """Return the class that ``llm.type`` or ``llm.service`` names.

    Raises:
        ConfigError: it cannot be imported, or is neither an LLM service nor a brain.
    """
    plug = plug_in(config, "llm")
    cls = plug.load(object)
    if issubclass(cls, LLMService) or (config.pipeline == "cascade" and callable(getattr(cls, "decide", None))):
        return cls
    wanted = "a subclass of pipecat.services.llm_service.LLMService"
    if config.pipeline == "cascade":
        wanted += ", or have a method decide(messages, tools) that returns a BrainReply"
    raise ConfigError(f"{plug.where}: {plug.name} does not fit: it has to be {wanted}")


def own_brain(config: BotConfig, payload: dict[str, Any] | None) -> Brain | None:
    """Return a new brain of the configured class for one scenario; None when the class is an LLM service.

    A method ``begin`` is given the scenario's payload: its name, domain and facts. Without a payload (None)
    the brain only proves that it can be made.

    Raises:
        ConfigError: the class does not fit, or refuses its settings.
    """
    cls = brain_class(config)
    if issubclass(cls, LLMService):
        return None
    brain: Any = plug_in(config, "llm").build(cls)
    if payload is not None and callable(begin := getattr(brain, "begin", None)):
        begin(payload)
    return brain  # type: ignore[no-any-return]
