"""The base of every validated record."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

__all__ = ["Record"]


class Record(BaseModel):
    """A frozen model that rejects unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")
