"""Where log records of a run go: ``evaluation_log.txt`` in the run directory, nothing to the terminal."""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from loguru import logger as loguru_logger

from duologue.records.run_layout import EVALUATION_LOG
from duologue.runner.scenario_log import LOG_FORMAT, FieldFormatter


def quiet_libraries() -> None:
    """Keep libraries that log to the terminal on import from doing so. Call it before heavy imports."""
    loguru_logger.remove()
    logging.getLogger("duologue").setLevel(logging.INFO)
    logging.getLogger("duologue").addHandler(logging.NullHandler())


def write_in_any_encoding() -> None:
    """Let standard output and error write out what their encoding lacks, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


@contextmanager
def run_log(run_dir: Path) -> Iterator[None]:
    """Append what the engine logs inside the block to ``evaluation_log.txt``."""
    handler = logging.FileHandler(run_dir / EVALUATION_LOG, encoding="utf-8")
    handler.setFormatter(FieldFormatter(LOG_FORMAT))
    logger = logging.getLogger("duologue")
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        handler.close()
