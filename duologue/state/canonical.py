"""Canonical form, digests and differences of a domain database."""

from __future__ import annotations

import hashlib
import json
from typing import Any

__all__ = ["canonical_text", "differences", "digest"]

_SORTED_LISTS = frozenset(
    {"standby_list", "notifications", "bookings", "system_accounts", "group_memberships", "asset_recoveries"}
)


def canonical_text(value: object) -> str:
    """Return the one JSON text of ``value``: sorted keys, no spaces, ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def digest(value: Any) -> str:
    """Return the SHA-256 (lower-case hex) of the canonical text. Exact: 1 and 1.0 differ."""
    return hashlib.sha256(canonical_text(value).encode("utf-8")).hexdigest()


def _folded(value: object, key: str = "") -> object:
    if isinstance(value, dict):
        return {str(name): _folded(item, str(name)) for name, item in value.items()}
    if isinstance(value, list | tuple):
        items = [_folded(item) for item in value]
        if key in _SORTED_LISTS:
            items.sort(key=lambda item: json.dumps(item, sort_keys=True, default=str))
        return items
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and value.strip().lower() in ("none", "null"):
        return None
    return value


def contract_hash(db: dict[str, Any] | None) -> str | None:
    """Return the ``db_hash`` of the wire contract: tolerant of float form and of null spellings.

    Top-level ``session`` is dropped, integral floats become integers, the texts ``none`` and ``null``
    become null, and six order-free lists are sorted. Returns None for a missing or empty database.
    """
    if not db:
        return None
    return contract_hash_of(db)


def contract_hash_of(db: dict[str, object]) -> str:
    """Return the contract hash of any database, an empty one included."""
    folded = _folded({key: value for key, value in db.items() if key != "session"})
    text = json.dumps(folded, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def differences(expected: object, found: object, path: str = "") -> list[str]:
    """Return one line for each leaf in which two JSON values differ, as ``path: expected != found``."""
    if isinstance(expected, dict) and isinstance(found, dict):
        lines: list[str] = []
        for key in sorted(expected.keys() | found.keys(), key=str):
            where = f"{path}.{key}" if path else str(key)
            if key not in expected:
                lines.append(f"{where}: absent != {found[key]!r}")
            elif key not in found:
                lines.append(f"{where}: {expected[key]!r} != absent")
            else:
                lines.extend(differences(expected[key], found[key], where))
        return lines
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        return [
            line
            for index, (left, right) in enumerate(zip(expected, found, strict=True))
            for line in differences(left, right, f"{path}[{index}]")
        ]
    if type(expected) is type(found) and expected == found:
        return []
    return [f"{path or 'value'}: {expected!r} != {found!r}"]
