"""Ending a launched bot together with the process that launched it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable

from duologue.runner.launch import LIFELINE


def follow_lifeline() -> None:
    """End this process politely once standard input ends, when the environment asks for it."""
    if os.environ.get(LIFELINE) == "stdin":
        watch(0, lambda: os.kill(os.getpid(), signal.SIGTERM))


def watch(descriptor: int, on_end: Callable[[], None]) -> threading.Thread:
    """Call ``on_end`` once when ``descriptor`` reaches its end; from a thread that never keeps the process alive."""

    def wait() -> None:
        while os.read(descriptor, 4096):
            pass
        on_end()

    thread = threading.Thread(target=wait, name="lifeline", daemon=True)
    thread.start()
    return thread
