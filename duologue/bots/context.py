"""What one session knows: prompt, tools, state, action log, brain; and what starting a scenario replaces."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from duologue.bots.brains.own import own_brain
from duologue.brains.brain import Brain, BrainReply, build_brain
from duologue.config import BotConfig, LlmConfig
from duologue.errors import ConfigError, RegistryError
from duologue.records.action import Side
from duologue.registry import DEFAULT_DOMAIN, load_domain
from duologue.state.side_state import SideState
from duologue.toolkit.ledger import Ledger
from duologue.toolkit.tool import FACTORY_KEY, Tool, find_tool

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
    """The scenario part of a session. ``side_state`` stays the same object for the session's life."""

    side_state: SideState = field(default_factory=lambda: SideState(DEFAULT_DOMAIN))
    ledger: Ledger = field(default_factory=Ledger)
    domain: str = DEFAULT_DOMAIN
    prompt: str = ""
    tools: dict[str, Tool] = field(default_factory=dict)
    brain: Brain | None = None
    has_exited: bool = False
    max_tool_turns: int | None = None

    @property
    def side(self) -> Side | None:
        """The side whose tools this bot was given, or None when they do not tell."""
        return next((tool.side for tool in self.tools.values() if tool.side is not None), None)

    @property
    def prompt_hash(self) -> str:
        """SHA-256 of the prompt text, in hex."""
        return hashlib.sha256(self.prompt.encode("utf-8")).hexdigest()

    def decide(self, messages: list[dict[str, Any]]) -> BrainReply:
        """Return the scripted brain's next reply to these chat messages.

        Raises:
            ConfigError: no scenario has begun.
        """
        if self.brain is None:
            raise ConfigError("no scenario has begun on this bot: send update_system_prompt first")
        return self.brain.decide(messages, sorted(self.tools))


@dataclass(frozen=True, slots=True)
class ScenarioStart:
    """A checked ``update_system_prompt``: everything that replaces the previous scenario."""

    prompt: str
    domain: str
    tools: dict[str, Tool]
    brain: Brain | None
    epoch: str | None
    profile: str
    language: str | None = None
    max_tool_turns: int | None = None

    def begin(self, state: ScenarioState) -> None:
        """Replace the scenario part of ``state``, clearing the database in place."""
        side = state.side_state
        side.domain, side.db, side.memory, side.profile = self.domain, None, {}, self.profile
        state.ledger = Ledger(self.epoch)
        state.domain, state.prompt, state.tools = self.domain, self.prompt, self.tools
        state.brain, state.has_exited = self.brain, False
        state.max_tool_turns = self.max_tool_turns


def parse_start(data: Mapping[str, Any], config: BotConfig) -> ScenarioStart:
    """Check an ``update_system_prompt`` body and build its tools and brain; changes nothing.

    Raises:
        ConfigError: a field is missing or malformed, or the brain lacks something in its payload.
        RegistryError: a tool is unknown.
    """
    prompt = data.get("prompt")
    if not isinstance(prompt, str) or not prompt:
        raise ConfigError("update_system_prompt: prompt must be a text that is not empty")
    if data.get("add_suffix", True) and config.llm.system_prompt_suffix:
        prompt = f"{prompt}\n{config.llm.system_prompt_suffix}"
    domain = _usable_domain(str(data.get("tool_domain") or DEFAULT_DOMAIN))
    payload = _json_object(data.get("scenario"), "scenario")
    tools = _build_tools(_json_object(data.get("tools"), "tools"), domain) if config.llm.enable_tool_calling else {}
    brain = _brain(config, payload)
    epoch = payload.get("epoch")
    return ScenarioStart(
        prompt,
        domain,
        tools,
        brain,
        str(epoch) if epoch else None,
        str(payload.get("profile") or "default"),
        str(payload["language"]) if payload.get("language") else None,
        _max_tool_turns(payload),
    )


def _brain(config: BotConfig, payload: dict[str, Any]) -> Brain | None:
    """Return the scripted or own brain of a scenario; None when an LLM service decides."""
    if config.llm.plug is not None:
        return own_brain(config, payload)
    if config.llm.type in ("openai", "openai_realtime"):
        return None
    return build_brain(config.llm.type, payload, _brain_settings(config.llm))


def _max_tool_turns(payload: Mapping[str, Any]) -> int | None:
    limit = payload.get("max_tool_turns")
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
        raise ConfigError(f"update_system_prompt: max_tool_turns must be a whole number from 1, not {limit!r}")
    return limit


def _brain_settings(config: LlmConfig) -> dict[str, Any]:
    return {"mutation": config.mutation} if config.mutation else {}


def _json_object(value: Any, name: str) -> dict[str, Any]:
    """Return the object in a JSON text (an object itself is taken too); absent means empty."""
    if value is None or value == "":
        return {}
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except json.JSONDecodeError as error:
            raise ConfigError(f"update_system_prompt: {name} is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise ConfigError(f"update_system_prompt: {name} must be an object")
    return value


def _usable_domain(name: str) -> str:
    if name == DEFAULT_DOMAIN:
        return name
    try:
        load_domain(name)
    except RegistryError as error:
        logger.warning("%s; using the tools of domain %s", error, DEFAULT_DOMAIN)
        return DEFAULT_DOMAIN
    return name


def _build_tools(wanted: Mapping[str, Any], domain: str) -> dict[str, Tool]:
    tools = {}
    for name, settings in wanted.items():
        if settings and not (isinstance(settings, dict) and FACTORY_KEY in settings):
            raise ConfigError(f"update_system_prompt: tool {name} takes no settings, got {settings}")
        tools[name] = find_tool(domain, name, settings)
    sides = {tool.side for tool in tools.values() if tool.side is not None}
    if len(sides) > 1:
        raise ConfigError("update_system_prompt: the tools belong to both sides of the call; one bot is one side")
    return tools


def context_text(messages: list[Any]) -> str:
    """Return the chat messages as JSON text with audio, images and files replaced by placeholders."""
    return json.dumps([_without_media(message, "") for message in messages], ensure_ascii=False, default=str)


def _without_media(value: Any, kind: str) -> Any:
    if isinstance(value, dict):
        return {key: _leaf_or_deeper(key, item, kind) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_media(item, kind) for item in value]
    if isinstance(value, bytes | bytearray) or (isinstance(value, str) and value.startswith("data:")):
        return kind or "<binary>"
    return value


def _leaf_or_deeper(key: str, value: Any, kind: str) -> Any:
    inner = _MEDIA_KEYS.get(key, kind)
    if isinstance(value, str) and (key in _ALWAYS_MEDIA or (key == "data" and kind)):
        return inner or "<file>"
    return _without_media(value, inner)
