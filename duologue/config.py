"""Settings of a bot: models, loader, order of precedence.

A setting comes from the command line, else from the environment, else from the YAML file, else from the
default in these models. ``${env:NAME}`` inside a YAML text is replaced by that environment variable.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, get_args

import yaml
from pydantic import BaseModel, Field, PrivateAttr, SecretStr, ValidationError, field_validator, model_validator

from duologue.errors import ConfigError
from duologue.records.record import Record
from duologue.speech_config import (
    POSITIONS,
    S2S_POSITIONS,
    Charge,
    ModuleClass,
    ProcessorConfig,
    SttConfig,
    TtsConfig,
    TurnTakingConfig,
    VadConfig,
    is_plug,
)
from duologue.strict_yaml import load_yaml

__all__ = [
    "BRAINS",
    "DEFAULT_CONFIG_PATH",
    "LOOPBACK_HOSTS",
    "POSITIONS",
    "SEEDED_CHARGE",
    "BotConfig",
    "Charge",
    "LlmConfig",
    "ProcessorConfig",
    "ServerConfig",
    "SttConfig",
    "TransportConfig",
    "TtsConfig",
    "TurnTakingConfig",
    "VadConfig",
    "load_bot_config",
]

LOOPBACK_HOSTS = frozenset({"127.0.0.1", "::1", "localhost"})
DEFAULT_CONFIG_PATH = "server_configs/agent.yaml"

_NUMBER = r"\d+(?:\.\d+)?"
SEEDED_CHARGE = re.compile(
    r"seeded:(?P<name>lognormal(?=\(mean_ms=[^,]+, ?sigma=)|uniform(?=\(min_ms=[^,]+, ?max_ms=))"
    rf"\(\w+=(?P<first>{_NUMBER}), ?\w+=(?P<second>{_NUMBER})\)"
)
"""A cost drawn for each request from the seed of the attempt."""

_TICK_RESERVE_S = 5.0  # what else a grant does, on a busy machine
_LONGEST_TICK_S = 600.0  # the bridge takes no longer bound: after ten minutes a bot is stuck


class ServerConfig(Record):
    """Where the bot listens, and who may connect."""

    name: str = "bot"
    host: str = "127.0.0.1"
    port: int = Field(default=8765, ge=0, le=65535)
    auth_token: SecretStr | None = None
    allowed_origins: tuple[str, ...] = ()
    max_sessions: int = Field(default=32, ge=1)
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"

    @model_validator(mode="after")
    def _guarded(self) -> ServerConfig:
        token = self.auth_token
        if token is not None and not token.get_secret_value():
            raise ValueError("auth_token is empty; set a value, or remove the key to run without a token on loopback")
        if token is None and self.host not in LOOPBACK_HOSTS:
            raise ValueError(
                f"host {self.host!r} is reachable from other machines; set server.auth_token or DUOLOGUE_TOKEN, "
                "or listen on 127.0.0.1"
            )
        return self


class TransportConfig(Record):
    """How a bot is reached, and the audio it takes and gives: 16 kHz in, ``audio_out_sample_rate`` Hz out.

    ``lockstep``: our own bridge, on media time, 20 ms frames, 16 kHz out unless set. ``websocket``: any client, in
    real time, frames of any length in, 24 kHz out unless set.
    """

    type: Literal["lockstep", "websocket"] = "lockstep"
    audio_in_sample_rate: Literal[16000] = 16000
    audio_out_sample_rate: Literal[8000, 16000, 24000] = 16000

    @model_validator(mode="before")
    @classmethod
    def _usual_rate(cls, values: object) -> object:
        if isinstance(values, dict) and values.get("type") == "websocket":
            return {"audio_out_sample_rate": 24000, **values}
        return values


BRAINS = (
    "openai",
    "openai_realtime",
    "reference",
    "scripted_user",
    "do_nothing",
    "wrong_action",
    "silent",
    "every_tool",
)


class LlmConfig(Record):
    """What sits in the model's place.

    ``type``: ``openai``, ``openai_realtime`` (with ``pipeline: s2s``), a scripted brain, or an own brain or Pipecat
    LLM service as ``module:Class``, which ``service`` says too; ``settings`` are its constructor's arguments.

    From ``model`` on, the keys are those of type ``openai``. ``request_timeout_s`` is the real time that one reply may
    take, ``retries`` (repeated requests, only while nothing of the reply was used) included. ``max_tool_rounds`` bounds
    how often in a row the model may answer one turn with tool calls. ``charge`` is what a reply costs in media time.
    """

    type: str = "reference"
    service: ModuleClass | None = None
    settings: dict[str, Any] = Field(default_factory=dict, repr=False)
    mutation: Literal["drop", "alter", "add"] | None = None
    latency_ms: int = Field(default=50, ge=0)
    enable_tool_calling: bool = True
    system_prompt_suffix: str = ""
    function_call_timeout_s: float = Field(default=10.0, gt=0)
    model: str = ""
    base_url: str | None = None
    api_key: SecretStr | None = None
    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, gt=0, le=1)
    max_tokens: int | None = Field(default=None, ge=1)
    seed: int | None = None
    extra_body: dict[str, object] = Field(default_factory=dict)
    request_timeout_s: float = Field(default=60.0, gt=0, le=600)
    retries: int = Field(default=2, ge=0, le=10)
    max_tool_rounds: int = Field(default=8, ge=1)
    charge: str = "measured"

    @field_validator("base_url")
    @classmethod
    def _http(cls, url: str | None) -> str | None:
        if url is not None and not url.startswith(("http://", "https://", "ws://", "wss://")):
            raise ValueError(f"{url!r} is not a web address (for example http://127.0.0.1:8000/v1)")
        return url

    @field_validator("type")
    @classmethod
    def _known_type(cls, kind: str) -> str:
        if kind not in BRAINS and not is_plug(kind):
            near = difflib.get_close_matches(kind, BRAINS, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(BRAINS)}, or module:Class"
            raise ValueError(f"{kind!r} is not a brain; {hint}")
        return kind

    @field_validator("charge")
    @classmethod
    def _known_charge(cls, charge: str) -> str:
        seeded = SEEDED_CHARGE.fullmatch(charge)
        is_drawable = seeded is not None and float(seeded["first"]) > 0
        if not is_drawable and not re.fullmatch(r"zero|measured|fixed:\d+", charge):
            raise ValueError(
                f"{charge!r} is not a charge; write zero, measured, fixed:<ms>, "
                "seeded:lognormal(mean_ms=600,sigma=0.4) or seeded:uniform(min_ms=300,max_ms=900)"
            )
        return charge

    @model_validator(mode="after")
    def _complete(self) -> LlmConfig:
        if self.service is not None and "type" in self.model_fields_set:
            raise ValueError("llm.service and llm.type both name a brain; leave one of them out")
        if self.settings and self.plug is None and self.type != "openai_realtime":
            raise ValueError("llm.settings goes with llm.service, an own type or openai_realtime, and only with them")
        if self.type == "openai" and not (self.model and (self.base_url or "").startswith("http")):
            raise ValueError("type openai needs llm.model and llm.base_url (for example http://127.0.0.1:8000/v1)")
        if (self.type == "wrong_action") != (self.mutation is not None):
            raise ValueError("llm.mutation (drop, alter or add) goes with type wrong_action, and only with it")
        return self

    @property
    def plug(self) -> str | None:
        """The own class, as ``module:Class``."""
        return self.service or (self.type if is_plug(self.type) else None)

    @property
    def name(self) -> str:
        """The brain's type or class."""
        return self.service or self.type

    @property
    def wants_plan(self) -> bool:
        """Whether the brain needs the scenario's reference plan in its payload."""
        return self.plug is None and self.type in ("reference", "wrong_action")

    @property
    def longest_tick_s(self) -> float:
        """Real seconds that one grant of time may take because of the model; 0 without one.

        Replies that cost no media time follow one another inside one grant.
        """
        if self.type != "openai":
            return 0.0
        replies = self.max_tool_rounds + 1 if self.charge in ("zero", "fixed:0") else 1
        return min(replies * self.request_timeout_s + _TICK_RESERVE_S, _LONGEST_TICK_S)


class BotConfig(Record):
    """All settings of one bot process.

    ``pipeline``: ``cascade`` (STT, LLM, TTS), or ``s2s`` when one service hears and speaks.
    """

    pipeline: Literal["cascade", "s2s"] = "cascade"
    server: ServerConfig = ServerConfig()
    transport: TransportConfig = TransportConfig()
    vad: VadConfig = VadConfig()
    stt: SttConfig = SttConfig()
    turn_taking: TurnTakingConfig = TurnTakingConfig()
    llm: LlmConfig = LlmConfig()
    tts: TtsConfig = TtsConfig()
    processors: tuple[ProcessorConfig, ...] = ()
    _source: Path | None = PrivateAttr(None)

    @property
    def source(self) -> Path | None:
        """The file that these settings were read from."""
        return self._source

    @property
    def longest_tick_s(self) -> float:
        """Real seconds that one grant of time may take because of models; 0 when all are quick."""
        work = (self.llm.longest_tick_s, self.stt.longest_work_s, self.tts.longest_work_s)
        return min(sum(work) + (_TICK_RESERVE_S if any(work[1:]) else 0.0), _LONGEST_TICK_S)

    @model_validator(mode="after")
    def _consistent(self) -> BotConfig:
        for problem in self._s2s_problems() if self.pipeline == "s2s" else self._cascade_problems():
            raise ValueError(problem)
        return self

    def _cascade_problems(self) -> Iterator[str]:
        if self.llm.type == "openai_realtime":
            yield "llm.type openai_realtime hears and speaks itself; write pipeline: s2s"
        if self.turn_taking.type == "service":
            yield "turn_taking.type service goes with pipeline: s2s"

    def _s2s_problems(self) -> Iterator[str]:
        if self.transport.type != "websocket":
            yield "pipeline: s2s lives in real time; write server.transport: websocket"
        if self.llm.type != "openai_realtime" and self.llm.plug is None:
            yield f"pipeline: s2s needs llm.type openai_realtime or llm.service, not {self.llm.type!r}"
        if self.llm.type == "openai_realtime" and not (self.llm.model and self.llm.api_key):
            yield "llm.type openai_realtime needs llm.model and llm.api_key"
        if not (self.llm.base_url or "ws").startswith("ws"):
            yield f"llm.base_url {self.llm.base_url!r} is not a WebSocket address (wss://...)"
        for section in ("stt", "tts"):
            if section in self.model_fields_set:
                yield f"pipeline: s2s has no {section}; take the section out"
        for place in sorted({processor.at for processor in self.processors} - set(S2S_POSITIONS)):
            yield f"processors: pipeline s2s has no place {place}; there are {' and '.join(S2S_POSITIONS)}"

    @model_validator(mode="before")
    @classmethod
    def _short_transport(cls, values: Any) -> object:
        """Take ``server.transport: websocket`` as ``transport: {type: websocket}``."""
        server = values.get("server") if isinstance(values, dict) else None
        if not isinstance(server, dict) or "transport" not in server:
            return values
        section = values.get("transport", {})
        if isinstance(section, dict) and section.get("type", server["transport"]) != server["transport"]:
            raise ValueError("server.transport and transport.type differ; leave one of them out")
        rest = {key: value for key, value in server.items() if key != "transport"}
        return {**values, "server": rest, "transport": {**section, "type": server["transport"]}}


def load_bot_config(
    path: Path | None = None, *, overrides: Mapping[str, object] | None = None, env: Mapping[str, str] | None = None
) -> BotConfig:
    """Return the settings of a bot.

    Args:
        path: the YAML file; None takes ``SERVER_CONFIG_PATH``, else ``server_configs/agent.yaml``.
        overrides: command-line values for ``server`` (``host``, ``port``); None values are ignored.
        env: the environment; None means the process's own.

    Raises:
        ConfigError: the message names the file, the key and the remedy.
    """
    env = os.environ if env is None else env
    path = path or Path(env.get("SERVER_CONFIG_PATH") or DEFAULT_CONFIG_PATH)
    values = _read_yaml(path)
    values = {key: _resolve(value, f"{path}: {key}", env) for key, value in values.items()}
    server = values.get("server") or {}
    if isinstance(server, dict):
        values["server"] = {**server, **_environment_server(env), **_given(overrides or {})}
    try:
        config = BotConfig.model_validate({key: _given_section(key, value) for key, value in values.items()})
    except ValidationError as error:
        raise ConfigError("; ".join(f"{path}: {line}" for line in _explain(error))) from error
    config._source = path
    return config


def _given_section(key: str, value: object) -> object:
    """Take a key without a value for an empty section."""
    return value if value is not None else [] if key == "processors" else {}


def _given(overrides: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in overrides.items() if value is not None}


def _environment_server(env: Mapping[str, str]) -> dict[str, object]:
    names = {"WEBSOCKET_PORT": "port", "SERVER_HOST": "host", "DUOLOGUE_TOKEN": "auth_token"}
    found: dict[str, Any] = {key: env[name] for name, key in names.items() if env.get(name)}
    if "port" in found and not found["port"].isdecimal():
        raise ConfigError(f"environment: WEBSOCKET_PORT must be a whole number, not {found['port']!r}")
    return found


def _read_yaml(path: Path) -> dict[str, object]:
    try:
        value = load_yaml(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(
            f"{path}: {error.strerror or error}; give a server configuration with --config or SERVER_CONFIG_PATH"
        ) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not YAML ({' '.join(str(error).split())})") from error
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ConfigError(f"{path}: the top level must be sections such as server, stt, llm, tts")
    return {str(key): item for key, item in value.items()}


_REFERENCE = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}")


def _resolve(value: object, where: str, env: Mapping[str, str]) -> object:
    """Replace ``${env:NAME}`` in every text of ``value``."""
    if isinstance(value, dict):
        return {key: _resolve(item, f"{where}.{key}", env) for key, item in value.items()}
    if isinstance(value, list):
        return [_resolve(item, f"{where}[{index}]", env) for index, item in enumerate(value)]
    if not isinstance(value, str):
        return value

    def named(match: re.Match[str]) -> str:
        name = match.group(1)
        if name not in env:
            raise ConfigError(f"{where}: environment variable {name} is not set; export it or change the key")
        return env[name]

    return _REFERENCE.sub(named, value)


def _explain(error: ValidationError) -> Iterator[str]:
    """Yield one line for each problem: the key, what is wrong, and the likely meant key."""
    for problem in error.errors(include_url=False, include_input=False):
        location = [str(part) for part in problem["loc"]]
        key = ".".join(location) or "settings"
        if problem["type"] != "extra_forbidden":
            yield f"{key}: {problem['msg'].removeprefix('Value error, ')}"
            continue
        known = _fields_of(location[:-1])
        near = difflib.get_close_matches(location[-1], known, n=1, cutoff=0.6)
        hint = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(known)}"
        yield f"{key}: unknown key; {hint}"


def _fields_of(location: list[str]) -> list[str]:
    model: type[BaseModel] = BotConfig
    for part in location:
        if not part.isdecimal():
            annotation: Any = model.model_fields[part].annotation
            model = next((item for item in get_args(annotation) if item is not ...), annotation)
    return list(model.model_fields)
