"""The flags for suites, trials, resources, recorded callers and turn agents, and those that domains bring along."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from urllib.parse import urlsplit

from duologue.cli.option_values import number, whole
from duologue.runner.settings import ALL_SUITES, AdapterSettings
from duologue.toolkit.rules import CatalogueFlag

_PREFIX = "domain_flag_"


def add_trial_flags(group: argparse._ArgumentGroup) -> None:
    """Add ``--suite`` and ``--trials``."""
    group.add_argument("--suite", default=ALL_SUITES, metavar="NAME", help="one suite of a domain (%(default)s)")
    group.add_argument(
        "--trials", type=whole(1), default=1, metavar="K", help="run each scenario K times (%(default)s)"
    )


def add_line_flag(group: argparse._ArgumentGroup) -> None:
    """Add ``--line``."""
    group.add_argument(
        "--line",
        action="append",
        default=[],
        metavar="YAML",
        help="what happens to the sound between the sides, or clean; given again, every scenario is run over each",
    )


def add_caller_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of callers that are recordings, and of turn agents in the place of an agent bot."""
    group = parser.add_argument_group("callers that are recordings")
    group.add_argument(
        "--caller-gap", type=number(0), default=0.8, metavar="S", help="quiet that ends the agent's turn (%(default)s)"
    )
    group.add_argument(
        "--caller-patience", type=number(0), default=5.0, metavar="S", help="wait for an answer (%(default)s)"
    )
    group.add_argument(
        "--dispatch",
        choices=("loop", "once"),
        default="loop",
        help="loop: tool results go back to the agent; once: its first tool calls end its turn (%(default)s)",
    )
    group.add_argument(
        "--adapter",
        metavar="NAME",
        help="a turn agent instead of an agent bot: eliza, hermes, openclaw or module:Class",
    )
    group.add_argument("--adapter-url", default="", metavar="URL", help="where it listens")
    group.add_argument(
        "--transcriber", default="whisper", metavar="KIND", help="hears for it: whisper, groq or a URL (%(default)s)"
    )
    group.add_argument("--transcriber-model", default="", metavar="NAME", help="instead of the default model")


def adapter_settings(args: argparse.Namespace) -> AdapterSettings | None:
    """Return the turn agent that the flags name, or None when they name none."""
    if not args.adapter:
        return None
    return AdapterSettings(args.adapter, args.adapter_url, args.transcriber, args.transcriber_model)


def add_domain_flags(parser: argparse.ArgumentParser, flags: Iterable[CatalogueFlag]) -> None:
    """Add the flags that domains bring along."""
    group = parser.add_argument_group("options of single domains")
    for flag in flags:
        default = f" ({flag.default})" if flag.default else ""
        group.add_argument(
            f"--{flag.name}",
            dest=_PREFIX + flag.name,
            type=_text,
            choices=flag.choices or None,
            metavar=None if flag.choices else flag.metavar,
            help=(flag.help + default).replace("%", "%%"),
        )


def add_resource_flag(group: argparse._ActionsContainer) -> None:
    """Add ``--resource``."""
    group.add_argument(
        "--resource",
        action="append",
        default=[],
        type=_named_url,
        metavar="NAME=URL",
        help="a domain's resource that already runs there, instead of one that this run starts; may be repeated",
    )


def given_resources(args: argparse.Namespace) -> dict[str, str]:
    """Return the addresses of resources that were given, by the resource's name."""
    return dict(text.split("=", 1) for text in args.resource)


def _named_url(value: str) -> str:
    name, _, url = value.partition("=")
    parts = urlsplit(url)
    if not name or parts.scheme not in ("http", "https") or not parts.hostname:
        raise argparse.ArgumentTypeError(f"{value!r} is not NAME=URL with an address like http://localhost:8080")
    return value


def _text(value: str) -> str:
    if not value:
        raise argparse.ArgumentTypeError("the value is empty; leave the flag out to do without it")
    return value


def given_domain_flags(args: argparse.Namespace) -> dict[str, str]:
    """Return the domain flags that were given, by their name."""
    values = vars(args).items()
    return {name.removeprefix(_PREFIX): text for name, text in values if name.startswith(_PREFIX) and text is not None}
