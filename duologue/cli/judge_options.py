"""The flags of a judge, shared by runs, rescoring and the agreement report."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from duologue.cli.option_values import number, whole
from duologue.errors import ConfigError
from duologue.records.run_layout import JUDGE_CACHE
from duologue.runner.settings import RunSettings
from duologue.scoring.judge.settings import Compaction, JudgeSettings

DEFAULT_MODEL = "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-NVFP4"
CEREBRAS_URL = "https://api.cerebras.ai/v1"
CEREBRAS_MODEL = "gpt-oss-120b"

_SPEC = re.compile(r"(?P<model>.+?)@(?P<url>https?://.+)")


def add_judge_flags(
    parser: argparse.ArgumentParser, *, title: str = "judge (off without --judge-url)", is_dispensable: bool = False
) -> None:
    """Add the flags of a judge as a group of their own, with ``--no-judge`` where domains may want one."""
    group = parser.add_argument_group(title)
    group.add_argument("--judge-url", type=_url, default="", metavar="URL", help="chat completions endpoint")
    if is_dispensable:
        group.add_argument(
            "--no-judge", action="store_true", help="leave out what only a judge can tell, in domains that want one"
        )
    group.add_argument("--judge-model", default=DEFAULT_MODEL, metavar="NAME", help="(%(default)s)")
    group.add_argument("--judge-api-key", metavar="KEY", help="better kept in the environment")
    group.add_argument(
        "--judge-api-key-name", default="JUDGE_API_KEY", metavar="VARIABLE", help="holds the key (%(default)s)"
    )
    group.add_argument("--judge-threshold", type=number(0, 1), default=0.9, metavar="X", help="0 to 1 (%(default)s)")
    group.add_argument(
        "--judge-timeout", type=number(0, above=True), default=120.0, metavar="S", help="of one request (%(default)s)"
    )
    group.add_argument(
        "--judge-attempts", type=whole(1), default=3, metavar="N", help="until a reply is valid (%(default)s)"
    )
    group.add_argument("--judge-max-tokens", type=whole(1), default=100000, metavar="N", help="(%(default)s)")
    group.add_argument("--judge-temperature", type=number(0), default=0.0, metavar="X", help="(%(default)s)")
    group.add_argument("--judge-top-p", type=number(0, 1), default=0.95, metavar="X", help="(%(default)s)")
    group.add_argument("--judge-seed", type=whole(0), default=42, metavar="N", help="(%(default)s)")
    group.add_argument(
        "--judge-enable-thinking", action="store_true", help="send chat_template_kwargs, which some endpoints refuse"
    )
    group.add_argument("--judge-thinking-token-budget", type=whole(1), metavar="N", help="not sent unless given")
    group.add_argument("--judge-include-conversation", action="store_true", help="show it the transcript as well")
    group.add_argument("--judge-compact-context", action="store_true", help="shorten the contexts it is shown, to")
    group.add_argument(
        "--judge-context-message-limit", type=whole(1), default=40, metavar="N", help="messages (%(default)s)"
    )
    group.add_argument(
        "--judge-context-system-string-limit",
        type=whole(1),
        default=2500,
        metavar="N",
        help="characters of a system message (%(default)s)",
    )
    group.add_argument(
        "--judge-context-string-limit",
        type=whole(1),
        default=6000,
        metavar="N",
        help="characters of any other text (%(default)s)",
    )
    group.add_argument(
        "--judge-cache", type=Path, metavar="DIR", help=f"valid replies are kept here ({JUDGE_CACHE} beside the runs)"
    )
    group.add_argument("--judge-no-cache", action="store_true", help="ask again, and keep nothing")


def judge_settings(
    args: argparse.Namespace, *, spec: str = "", env: Mapping[str, str] | None = None
) -> JudgeSettings | None:
    """Return the judge that the flags name, or None when they name none.

    ``spec`` is ``MODEL@URL`` and beats ``--judge-model`` and ``--judge-url``; see :func:`judge_spec`.
    """
    env = os.environ if env is None else env
    match = _SPEC.fullmatch(spec)
    model, url = (match["model"], match["url"]) if match else (args.judge_model, args.judge_url)
    if not url:
        return None
    compaction = Compaction(
        args.judge_context_message_limit, args.judge_context_system_string_limit, args.judge_context_string_limit
    )
    return JudgeSettings(
        url=url,
        model=model,
        api_key=args.judge_api_key or env.get(args.judge_api_key_name) or None,
        threshold=args.judge_threshold,
        timeout_s=args.judge_timeout,
        max_tokens=args.judge_max_tokens,
        temperature=args.judge_temperature,
        top_p=args.judge_top_p,
        seed=args.judge_seed,
        thinking_token_budget=args.judge_thinking_token_budget,
        enable_thinking=True if args.judge_enable_thinking else None,
        include_conversation=args.judge_include_conversation,
        compaction=compaction if args.judge_compact_context else None,
        attempts=args.judge_attempts,
    )


def with_due_judge(
    run: RunSettings, parsed: Mapping[str, Any], due: Sequence[str], env: Mapping[str, str] | None = None
) -> RunSettings:
    """Return the settings with the judge of the environment, when scenarios are ``due`` for one that no flag names.

    Raises:
        ConfigError: there is none, and ``--no-judge`` was not given.
    """
    env = os.environ if env is None else env
    if run.judge is not None or not due or parsed["no_judge"]:
        return run
    key = env.get("CEREBRAS_API_KEY", "").strip()
    if not key:
        raise ConfigError(
            f"{len(due)} of the scenarios need a judge, {due[0]} is the first; give --judge-url, export "
            "CEREBRAS_API_KEY, or leave their judged part out with --no-judge"
        )
    url = (env.get("CEREBRAS_BASE_URL", "").strip() or CEREBRAS_URL).rstrip("/") + "/chat/completions"
    model = CEREBRAS_MODEL if parsed["judge_model"] == DEFAULT_MODEL else parsed["judge_model"]
    return replace(run, judge=JudgeSettings(url=url, model=model, api_key=key, attempts=parsed["judge_attempts"]))


def judge_cache_folder(args: argparse.Namespace, runs: Path) -> Path | None:
    """Return where replies are kept; ``runs`` is the folder that run directories are in."""
    if args.judge_no_cache:
        return None
    chosen: Path | None = args.judge_cache
    return chosen if chosen is not None else runs / JUDGE_CACHE


def judge_spec(text: str) -> str:
    """Return ``text`` if it has the form ``MODEL@URL``.

    Raises:
        argparse.ArgumentTypeError: it has not.
    """
    if not _SPEC.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not MODEL@URL, for example qwen3@http://localhost:8000/v1/...")
    return text


def _url(text: str) -> str:
    if text and not text.startswith(("http://", "https://")):
        raise argparse.ArgumentTypeError(f"{text!r} is not an address like http://localhost:8000/v1/chat/completions")
    return text
