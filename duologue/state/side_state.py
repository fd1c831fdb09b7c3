"""The state of one side in one scenario: its database and what belongs to it."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

from duologue.errors import ToolError
from duologue.state.canonical import digest

__all__ = ["SideState"]


@dataclass(slots=True)
class SideState:
    """One side's database and the little that lives beside it.

    ``memory`` is tool state that is not part of the database (it is part of the digest, so that a shadow
    cannot differ in it unseen). ``profile`` selects a domain's rule variant.
    """

    domain: str
    db: dict[str, Any] | None = None
    memory: dict[str, Any] = field(default_factory=dict)
    profile: str = "default"

    @property
    def database(self) -> dict[str, Any]:
        """The database of a side that has one, for code that works on it.

        Raises:
            ToolError: this side has none.
        """
        if self.db is None:
            raise ToolError("there is no database on this side")
        return self.db

    def digest(self) -> str | None:
        """Return the exact digest of database and memory, or None without a database."""
        if self.db is None:
            return None
        return digest(self.db) if not self.memory else digest({"db": self.db, "memory": self.memory})

    def copy(self) -> SideState:
        """Return an independent copy."""
        return SideState(self.domain, copy.deepcopy(self.db), copy.deepcopy(self.memory), self.profile)
