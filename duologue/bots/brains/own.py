"""Own brains by ``module:Class``: pure ones, and LLM services of Pipecat."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipecat.services.llm_service import LLMService

from duologue.bots.plugs import Plug, plug_in
from duologue.brains.brain import Brain
from duologue.config import BotConfig
from duologue.errors import ConfigError


@dataclass(frozen=True, slots=True)
class OwnBrain:
    """The class ``cls`` that ``llm.type`` or ``llm.service`` names."""

    plug: Plug
    cls: type[Any]

    @property
    def is_service(self) -> bool:
        """Whether it is an LLM service, which lives as long as a session; a brain lives as long as a scenario."""
        return issubclass(self.cls, LLMService)

    def make(self) -> Any:
        """Return a new brain.

        Raises:
            ConfigError: the class refuses its settings.
        """
        return self.plug.build(self.cls)

    def begin(self, payload: Mapping[str, object]) -> Brain | None:
        """Return a new brain for one scenario; None when the class is an LLM service.

        A method ``begin`` is given the scenario's payload: its name, domain and facts.

        Raises:
            ConfigError: the class refuses its settings.
        """
        if self.is_service:
            return None
        brain = self.make()
        if callable(begin := getattr(brain, "begin", None)):
            begin(payload)
        return brain  # type: ignore[no-any-return]


def own_brain(config: BotConfig) -> OwnBrain:
    """Return what ``llm.type`` or ``llm.service`` names.

    Raises:
        ConfigError: it cannot be imported, or is neither an LLM service nor a brain.
    """
    plug = plug_in(config, "llm")
    own = OwnBrain(plug, plug.load(object))
    if own.is_service or (config.pipeline == "cascade" and callable(getattr(own.cls, "decide", None))):
        return own
    wanted = "a subclass of pipecat.services.llm_service.LLMService"
    if config.pipeline == "cascade":
        wanted += ", or have a method decide(messages, tools) that returns a BrainReply"
    raise ConfigError(f"{plug.where}: {plug.name} does not fit: it has to be {wanted}")
