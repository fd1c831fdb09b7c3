"""What one run is asked to do, validated: the record between the command line and the runner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from duologue.bridge.settings import BotProtocol, RealtimeSettings
from duologue.records.action import Side
from duologue.records.conditions import LineConditions
from duologue.records.redaction import redact_url
from duologue.records.run_layout import RUNS
from duologue.scoring.judge.settings import JudgeSettings

REFERENCE_MODE = "reference"
"""The mode of ``--compat`` that is the engine's: the gating and float rules of the reference harness.

The other modes are rule profiles of domains."""

ALL_SUITES = "all"

Pace = Literal["free", "wall"]


@dataclass(frozen=True, slots=True)
class Selection:
    """Which scenarios a run takes.

    ``names`` wins over ``prefix``; with neither, every scenario is taken. ``suite`` keeps one suite. ``limit`` keeps
    the first ones, or as many of every suite as can be. ``extra`` holds the flags of domains that were given.
    """

    names: tuple[str, ...] = ()
    prefix: str = ""
    limit: int | None = None
    split: str = "base"
    compat: tuple[str, ...] = ()
    suite: str = ALL_SUITES
    extra: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LaunchSettings:
    """The configuration files of the bots that a run starts itself."""

    agent_config: Path
    user_config: Path
    ready_timeout_s: float = 60.0

    def config(self, side: Side) -> Path:
        """Return the configuration file of one bot."""
        return self.agent_config if side is Side.AGENT else self.user_config


@dataclass(frozen=True, slots=True)
class AdapterSettings:
    """A turn agent instead of a bot.

    Args:
        name: ``eliza``, ``hermes``, ``openclaw``, or ``module:Class``.
        url: where it listens; empty for its default.
        transcriber: what hears the caller: ``whisper``, ``groq``, or the base URL of a server.
        model: the model of the transcriber; empty for its default.
    """

    name: str
    url: str = ""
    transcriber: str = "whisper"
    model: str = ""


@dataclass(frozen=True, slots=True)
class RunSettings:
    """Everything a run needs beside its scenarios. ``token`` is a secret and goes into no file.

    ``judge`` None means that nobody is asked; ``judge_cache`` None that replies are not kept. ``trials`` is how often
    each scenario is run, ``lines`` what each is run over, its own line if there are none. ``user_config`` names the
    voice of frozen callers' texts, ``caller_…_s`` how such callers take turns. ``is_one_shot`` leaves the agent one
    turn with tool calls for each utterance of the caller. ``resource_urls`` says by name where a domain's resource runs
    that this run does not start.
    """

    agent_url: str = "ws://localhost:8765"
    user_url: str = "ws://localhost:8766"
    token: str | None = field(default=None, repr=False)
    output_dir: Path = Path(RUNS)
    duration_s: float | None = None
    pause_s: float = 0.0
    pace: Pace = "free"
    bot_protocol: BotProtocol = "lockstep"
    realtime: RealtimeSettings = field(default_factory=RealtimeSettings)
    seed: int = 0
    trials: int = 1
    lines: tuple[LineConditions, ...] = ()
    caller_gap_s: float = 0.8
    caller_patience_s: float = 5.0
    is_one_shot: bool = False
    user_config: Path = Path("server_configs/user.yaml")
    adapter: AdapterSettings | None = None
    strict_match: bool = False
    min_agent_turns: int = 3
    compat: tuple[str, ...] = ()
    launch: LaunchSettings | None = None
    judge: JudgeSettings | None = None
    judge_cache: Path | None = None
    resource_urls: Mapping[str, str] = field(default_factory=dict)

    def header(self) -> dict[str, Any]:
        """Return what a trace header stores: the settings that can change a result, no secret, no machine path."""
        return {
            "duration_s": self.duration_s,
            "pace": self.pace,
            **({"bot_protocol": self.bot_protocol, **asdict(self.realtime)} if self.bot_protocol == "realtime" else {}),
            "caller_gap_s": self.caller_gap_s,
            "caller_patience_s": self.caller_patience_s,
            "strict_match": self.strict_match,
            "min_agent_turns": self.min_agent_turns,
            **({"resource_urls": redacted} if (redacted := self._shown_urls()) else {}),
        }

    def _shown_urls(self) -> dict[str, str]:
        return {name: redact_url(url) for name, url in self.resource_urls.items()}
