"""What one run is asked to do, validated: the record between the command line and the runner."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from duologue.scoring.judge_settings import JudgeSettings

COMPAT_MODES = ("reference", "tau2")
"""``reference``: the gating and float rules of the reference harness. ``tau2``: upstream's rule profile."""

Pace = Literal["free", "wall"]


@dataclass(frozen=True, slots=True)
class Selection:
    """Which scenarios a run takes.

    ``names`` wins over ``prefix``; with neither, every scenario is taken. ``limit`` keeps the first ones.
    """

    names: tuple[str, ...] = ()
    prefix: str = ""
    limit: int | None = None
    split: str = "base"
    source: str | None = None
    compat: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LaunchSettings:
    """The configuration files of the two bots that a run starts itself."""

    agent_config: Path
    user_config: Path
    ready_timeout_s: float = 60.0


@dataclass(frozen=True, slots=True)
class RunSettings:
    """Everything a run needs beside its scenarios. ``token`` is a secret and goes into no file.

    ``judge`` None means that nobody is asked; ``judge_cache`` None that replies are not kept.
    """

    agent_url: str = "ws://localhost:8765"
    user_url: str = "ws://localhost:8766"
    token: str | None = field(default=None, repr=False)
    output_dir: Path = Path("eval_results")
    duration_s: float | None = None
    pause_s: float = 0.0
    pace: Pace = "free"
    seed: int = 0
    strict_match: bool = False
    min_agent_turns: int = 3
    compat: tuple[str, ...] = ()
    launch: LaunchSettings | None = None
    judge: JudgeSettings | None = None
    judge_cache: Path | None = None

    def header(self) -> dict[str, Any]:
        """Return what a trace header stores: the settings that can change a result, no secret, no machine path."""
        return {
            "duration_s": self.duration_s,
            "pace": self.pace,
            "strict_match": self.strict_match,
            "min_agent_turns": self.min_agent_turns,
        }
