"""The flags of a call in real time."""

from __future__ import annotations

import argparse

from duologue.bridge.settings import RealtimeSettings
from duologue.cli.option_values import number, whole

FRAME_S = 0.02  # seconds of a tick of the protocol
PROTOCOLS = ("lockstep", "realtime")
_USUAL = RealtimeSettings()


def add_realtime_flags(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    group = parser.add_argument_group("how bots are met")
    group.add_argument(
        "--bot-protocol",
        choices=PROTOCOLS,
        default="lockstep",
        help="lockstep: our own bots, on media time; realtime: any bot of the field, on the wall clock (%(default)s)",
    )
    group.add_argument(
        "--audio-chunk-in-seconds",
        type=_frame,
        default=FRAME_S,
        metavar="S",
        help="length of an audio frame to a bot; in lock-step only %(default)s",
    )
    group.add_argument(
        "--jitter-ms",
        type=whole(0),
        default=_USUAL.jitter_ms,
        metavar="MS",
        help="in real time: how long a bot's first sound is held back (%(default)s)",
    )
    group.add_argument(
        "--max-lag-ms",
        type=whole(1),
        default=_USUAL.max_lag_ms,
        metavar="MS",
        help="in real time: a call that falls further behind is not evaluable (%(default)s)",
    )


def realtime_settings(args: argparse.Namespace) -> RealtimeSettings:
    """Return what the flags say."""
    frame_ms = round(args.audio_chunk_in_seconds * 1000)
    return RealtimeSettings(frame_ms=frame_ms, jitter_ms=args.jitter_ms, max_lag_ms=args.max_lag_ms)


def frame_problem(args: argparse.Namespace) -> str:
    """Return why the frame length cannot be used, or an empty text."""
    if args.bot_protocol == "realtime" or args.audio_chunk_in_seconds == FRAME_S:
        return ""
    return (
        f"argument --audio-chunk-in-seconds: {args.audio_chunk_in_seconds:g} is not supported, only {FRAME_S:g}: calls "
        "are in lock-step, one frame is 20 ms; other lengths need --bot-protocol realtime"
    )


def _frame(text: str) -> float:
    value = number(0.01, 0.1)(text)
    if round(value * 1000) != value * 1000:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number of milliseconds")
    return value
