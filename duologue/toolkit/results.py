"""What a tool gives back: to the model, to the action log, to a checker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["ToolResult"]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool body returns.

    Args:
        out: the structured outcome (JSON values), stable across wordings.
        message: a sentence for the model; merged into an object outcome under ``message``.
        changed: False for a soft failure or a no-op, which leaves no record.
    """

    out: Any
    message: str = ""
    changed: bool = True

    @property
    def value(self) -> Any:
        """What the model sees and what the action record stores."""
        if not self.message:
            return self.out
        if isinstance(self.out, dict):
            return {"message": self.message, **self.out}
        return {"message": self.message, "result": self.out}


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """The result of one invocation.

    ``value`` is what the model sees. ``out`` is the structured outcome, None after an error.
    ``is_recorded`` says that a write belongs into the action log. ``error_type`` is empty when all went well.
    ``crash`` describes a bug of the tool, for whoever keeps the harness; empty when there was none.
    """

    value: Any
    out: Any = None
    error_type: str = ""
    is_recorded: bool = False
    crash: str = ""

    @property
    def ok(self) -> bool:
        """Whether the tool ran without an error."""
        return not self.error_type


def error_value(error_type: str, message: str, **extra: Any) -> dict[str, Any]:
    """Return the error object a model is shown."""
    return {"status": "error", "error_type": error_type, "message": message, **extra}


def normalized(value: Any) -> Any:
    """Return ``value`` with an explicit success object in place of an empty one (models read empty as missing)."""
    if isinstance(value, list | tuple) and not value:
        return {"status": "success", "results": [], "count": 0, "message": "No results."}
    if isinstance(value, dict) and not value:
        return {"status": "success", "results": {}, "message": "No results."}
    if not value:
        return {"status": "success", "result": value, "message": "Done."}
    return value
