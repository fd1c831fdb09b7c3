"""Replies of judges on disk, so that the same question is asked once."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class JudgeCache:
    """A folder with one file for each question.

    The key of a question is everything that can change the reply; it is stored beside the reply and compared on
    reading. Files appear whole or not at all, so several runs may share a folder.
    """

    folder: Path

    def get(self, key: Mapping[str, object]) -> str | None:
        """Return the stored reply text, or None; a damaged file counts as none."""
        path = self._path(key)
        try:
            entry = json.loads(path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            logger.warning("a stored reply of the judge cannot be read", extra={"path": str(path), "error": str(error)})
            return None
        if not isinstance(entry, dict) or entry.get("key") != dict(key) or not isinstance(entry.get("reply"), str):
            logger.warning("a stored reply of the judge does not fit its key", extra={"path": str(path)})
            return None
        return str(entry["reply"])

    def put(self, key: Mapping[str, object], reply: str) -> None:
        """Store a reply text. A folder that cannot be written is logged, and costs a request the next time."""
        path = self._path(key)
        temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        text = json.dumps({"key": dict(key), "reply": reply}, indent=2, sort_keys=True)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_text(text + "\n", encoding="utf-8")
            temporary.replace(path)
        except OSError as error:
            logger.warning("a reply of the judge cannot be stored", extra={"path": str(path), "error": str(error)})

    def _path(self, key: Mapping[str, object]) -> Path:
        text = json.dumps(dict(key), sort_keys=True, separators=(",", ":"))
        name = hashlib.sha256(text.encode()).hexdigest()
        return self.folder / name[:2] / f"{name}.json"
