"""What one session knows: prompt, tools, state, action log, brain; and what starting a scenario replaces."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from duologue.bots.brains.own import own_brain
from duologue.brains.brain import Brain, BrainReply, build_brain
from duologue.config import BotConfig, LlmConfig
from duologue.errors import ConfigError, RegistryError
from duologue.protocol.bodies import StartBody
from duologue.registry import DEFAULT_DOMAIN, load_domain
from duologue.toolkit.side_host import SideHost, find_tools
from duologue.toolkit.tool import Tool

logger = logging.getLogger(__name__)

_MEDIA_KEYS = {
    "audio": "<audio>",
    "input_audio": "<audio>",
    "image": "<image>",
    "image_url": "<image>",
    "file": "<file>",
}
_ALWAYS_MEDIA = frozenset({"file_data", "b64_json"})


@dataclass(slots=True)
class ScenarioState:
    """The scenario part of a session: the side that the bot holds, and what belongs to its brain."""

    host: SideHost = field(default_factory=SideHost)
    brain: Brain | None = None
    has_exited: bool = False
    is_forwarding: bool = False
    max_tool_turns: int | None = None

    def decide(self, messages: list[dict[str, object]]) -> BrainReply:
        """Return the scripted brain's next reply to these chat messages.

        Raises:
            ConfigError: no scenario has begun.
        """
        if self.brain is None:
            raise ConfigError("no scenario has begun on this bot: send update_system_prompt first")
        return self.brain.decide(messages, sorted(self.host.tools))


@dataclass(frozen=True, slots=True)
class ScenarioStart:
    """A checked ``update_system_prompt``: everything that replaces the previous scenario."""

    body: StartBody
    prompt: str
    domain: str
    tools: dict[str, Tool]
    brain: Brain | None
    max_tool_turns: int | None

    def begin(self, state: ScenarioState) -> None:
        """Replace the scenario part of ``state``, clearing the database in place."""
        state.host.begin(self.domain, self.prompt, self.tools, self.body.epoch, self.body.profile)
        state.brain, state.has_exited, state.is_forwarding = self.brain, False, self.body.is_forwarding
        state.max_tool_turns = self.max_tool_turns


def parse_start(data: Mapping[str, object], config: BotConfig) -> ScenarioStart:
    """Check an ``update_system_prompt`` body and build its tools and brain; changes nothing.

    Raises:
        MalformedRequest: a field is missing or malformed.
        ConfigError: the brain lacks something in its payload.
        RegistryError: a tool is unknown, takes no settings, or belongs to the other side.
    """
    body = StartBody.read("update_system_prompt", data)
    prompt = body.prompt
    if body.add_suffix and config.llm.system_prompt_suffix:
        prompt = f"{prompt}\n{config.llm.system_prompt_suffix}"
    domain = _usable_domain(body.tool_domain)
    tools = find_tools(domain, body.tools) if config.llm.enable_tool_calling else {}
    brain = _brain(config, body.scenario)
    return ScenarioStart(body, prompt, domain, tools, brain, body.max_tool_turns)


def _brain(config: BotConfig, payload: dict[str, object]) -> Brain | None:
    """Return the scripted or own brain of a scenario; None when an LLM service decides."""
    if config.llm.plug is not None:
        return own_brain(config).begin(payload)
    if config.llm.type in ("openai", "openai_realtime"):
        return None
    return build_brain(config.llm.type, payload, _brain_settings(config.llm))


def _brain_settings(config: LlmConfig) -> dict[str, object]:
    return {"mutation": config.mutation} if config.mutation else {}


def _usable_domain(name: str) -> str:
    if name == DEFAULT_DOMAIN:
        return name
    try:
        load_domain(name)
    except RegistryError as error:
        logger.warning("%s; using the tools of domain %s", error, DEFAULT_DOMAIN)
        return DEFAULT_DOMAIN
    return name


def context_text(messages: Sequence[object]) -> str:
    """Return the chat messages as JSON text with audio, images and files replaced by placeholders."""
    return json.dumps([_without_media(message, "") for message in messages], ensure_ascii=False, default=str)


def _without_media(value: object, kind: str) -> object:
    if isinstance(value, dict):
        return {key: _leaf_or_deeper(key, item, kind) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_media(item, kind) for item in value]
    if isinstance(value, bytes | bytearray) or (isinstance(value, str) and value.startswith("data:")):
        return kind or "<binary>"
    return value


def _leaf_or_deeper(key: str, value: object, kind: str) -> object:
    inner = _MEDIA_KEYS.get(key, kind)
    if isinstance(value, str) and (key in _ALWAYS_MEDIA or (key == "data" and kind)):
        return inner or "<file>"
    return _without_media(value, inner)
