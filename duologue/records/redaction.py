"""Keeping secrets out of what is printed and stored."""

from __future__ import annotations

import re

REDACTED = "<redacted>"
_PARAMETER = re.compile(r"([?&][\w-]*(?:token|key|secret|password)=)[^&\s#]+", re.IGNORECASE)
_LOGIN = re.compile(r"(?<=://)[^/@\s]+(?=@)")


def redact_url(text: str) -> str:
    """Return ``text`` with what is secret in its addresses replaced: a login, and parameters such as ``token``."""
    return _LOGIN.sub(REDACTED, _PARAMETER.sub(rf"\1{REDACTED}", text))
