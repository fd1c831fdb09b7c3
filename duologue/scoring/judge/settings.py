"""Which judge is asked, and how."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit, urlunsplit


@dataclass(frozen=True, slots=True)
class Compaction:
    """How far contexts are shortened: messages kept, and characters of a system message and of any other text."""

    messages: int = 40
    system_chars: int = 2500
    chars: int = 6000


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """Who judges and how. ``api_key`` is a secret: it goes into the request and nowhere else.

    Args:
        url: complete address of the chat completions endpoint.
        model: name of the model there.
        threshold: the score that has to be reached, 0 to 1.
        timeout_s: of one request.
        enable_thinking: sends ``chat_template_kwargs``; None leaves it out, as many endpoints refuse it.
        attempts: how often a question is asked before it is given up, at least 1.
    """

    url: str = field(repr=False)
    model: str
    api_key: str | None = field(default=None, repr=False)
    threshold: float = 0.9
    timeout_s: float = 120.0
    max_tokens: int = 100_000
    temperature: float = 0.0
    top_p: float = 0.95
    seed: int = 42
    thinking_token_budget: int | None = None
    enable_thinking: bool | None = None
    include_conversation: bool = False
    compaction: Compaction | None = None
    attempts: int = 3

    def sampling(self) -> dict[str, Any]:
        """Return the fields of the request that can change a reply, beside model and messages."""
        fields: dict[str, object] = {
            "max_tokens": self.max_tokens,
            "temperature": self.temperature,
            "top_p": self.top_p,
            "seed": self.seed,
        }
        if self.enable_thinking is not None:
            fields["chat_template_kwargs"] = {"enable_thinking": self.enable_thinking}
        if self.thinking_token_budget is not None:
            fields["thinking_token_budget"] = self.thinking_token_budget
        return fields

    @property
    def shown_url(self) -> str:
        """The address without user, password, query and fragment."""
        parts = urlsplit(self.url)
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
