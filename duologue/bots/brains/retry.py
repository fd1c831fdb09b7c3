"""When a failed request to a model may be sent again, and what is said when it may not."""

from __future__ import annotations

from dataclasses import dataclass

from openai import APIConnectionError, APIError, APIStatusError, APITimeoutError

from duologue.errors import DuologueError

_FIRST_WAIT_S = 0.5  # doubles with each try; endpoints that want more say so in Retry-After
_MAX_WAIT_S = 20.0  # who asks for more is not waited for: a caller would have given up
_TOO_MANY_REQUESTS = 429  # RFC 6585
_SERVER_ERRORS = 500  # RFC 9110: from here on the server is at fault, and another try may do
_MAX_DETAIL = 300  # characters of an endpoint's words that a message shows


class ModelError(DuologueError):
    """The model behind ``llm.base_url`` gave no usable reply."""


class ReplyCut(DuologueError):
    """A streamed reply ended before it was whole."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often a request is repeated, and how long a reply may take.

    Args:
        retries: repetitions after the first request.
        timeout_s: real seconds for one reply, repetitions and waits included.
    """

    retries: int
    timeout_s: float

    def wait_s(self, error: Exception, attempt: int) -> float | None:
        """Return the pause before the request is sent again, or None when it must not be.

        Ask only while nothing of the reply was used. ``attempt`` counts the requests sent so far, from 1.
        """
        if attempt > self.retries or not _may_pass(error):
            return None
        asked = _retry_after_s(error)
        wait_s = _FIRST_WAIT_S * 2 ** (attempt - 1) if asked is None else asked
        return wait_s if wait_s <= _MAX_WAIT_S else None


def _may_pass(error: Exception) -> bool:
    """Whether the same request can succeed later. A time-out is not repeated: the time is spent."""
    if isinstance(error, APITimeoutError | TimeoutError):
        return False
    if isinstance(error, APIStatusError):
        return error.status_code == _TOO_MANY_REQUESTS or error.status_code >= _SERVER_ERRORS
    return isinstance(error, APIConnectionError | APIError | ReplyCut | ConnectionError)


def _retry_after_s(error: Exception) -> float | None:
    if not isinstance(error, APIStatusError):
        return None
    try:
        seconds = float(error.response.headers.get("retry-after", ""))
    except ValueError:
        return None
    return seconds if seconds >= 0 else None


def describe_failure(error: Exception, *, url: str, model: str, policy: RetryPolicy, requests: int, secret: str) -> str:
    """Return what went wrong, for a person; ``secret`` never appears in it."""
    if isinstance(error, APITimeoutError | TimeoutError):
        what = f"no whole reply within {policy.timeout_s:g} s (llm.request_timeout_s)"
    elif isinstance(error, APIStatusError):
        what = f"HTTP {error.status_code}: {error.message}"
    elif isinstance(error, APIConnectionError):
        what = f"connection failed ({error.__cause__ or error})"
    else:
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    what = " ".join(what.split())[:_MAX_DETAIL]
    if secret:
        what = what.replace(secret, "***")
    times = f" after {requests} requests" if requests > 1 else ""
    return f"the model {model} at {url} gave no reply{times}: {what}"
