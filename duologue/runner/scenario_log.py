"""The log of one attempt: records of its task, and only those, go to its own file."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from duologue.records.run_layout import BRIDGE_LOG

LOG_FORMAT = "%(asctime)s %(levelname)-7s %(name)s: %(message)s%(fields)s"

_running: ContextVar[str] = ContextVar("duologue_scenario", default="")
_ORDINARY = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "fields", "taskName"}


class FieldFormatter(logging.Formatter):
    """Puts the fields of a record (``extra``) behind its message, as ``key=value``."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line for ``record``."""
        extra = {key: value for key, value in vars(record).items() if key not in _ORDINARY}
        record.fields = "".join(f" {key}={value!r}" for key, value in extra.items())
        return super().format(record)


@contextmanager
def scenario_log(folder: Path, scenario: str) -> Iterator[None]:
    """Write what is logged inside the block, by this task and its children, to ``bridge_log.txt`` in ``folder``."""
    handler = logging.FileHandler(folder / BRIDGE_LOG, encoding="utf-8")
    handler.setFormatter(FieldFormatter(LOG_FORMAT))
    handler.addFilter(lambda record: _running.get() == scenario)
    logger = logging.getLogger("duologue")
    token = _running.set(scenario)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        _running.reset(token)
        handler.close()
