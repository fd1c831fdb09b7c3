"""Pipecat logs through loguru; here its records go to the standard library's logging."""

from __future__ import annotations

import logging
from typing import Any

from loguru import logger as loguru_logger

_LEVEL = {"TRACE": 5, "SUCCESS": logging.INFO}


def bridge_loguru(level: str = "WARNING") -> None:
    """Send loguru records of ``level`` and above to stdlib loggers named after their module, and nowhere else.

    Call before the first import of Pipecat, which writes a banner when it is imported.
    """
    loguru_logger.remove()
    loguru_logger.add(_forward, level=level, format="{message}", catch=True)


def _forward(message: Any) -> None:
    record = message.record
    level = _LEVEL.get(record["level"].name, record["level"].no)
    exception = record["exception"]
    logging.getLogger(record["name"]).log(
        level, "%s", record["message"], exc_info=exception and (exception.type, exception.value, exception.traceback)
    )
