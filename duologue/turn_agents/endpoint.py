"""JSON over HTTP to an agent that runs elsewhere."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import aiohttp

from duologue.clock import Clock
from duologue.errors import ConfigError, TurnAgentError, TurnAgentUnavailable

_POLL_S = 1.0  # agents load for seconds to minutes
_SHOWN = 300  # characters of an answer in a message


@dataclass(frozen=True, slots=True)
class EndpointSettings:
    """Where an agent answers.

    Args:
        name: of the adapter, for messages.
        base_url: scheme, host and port; a path in front of the adapter's own is kept.
        token: sent as a bearer token when not empty.
        timeout_s: for one answer.
        wait_s: how long to wait for the server to accept connections.
    """

    name: str
    base_url: str
    token: str = field(default="", repr=False)
    timeout_s: float = 120.0
    wait_s: float = 60.0

    def __post_init__(self) -> None:
        if not self.base_url.startswith(("http://", "https://")) or not urlsplit(self.base_url).hostname:
            raise ConfigError(f"adapter {self.name}: {self.base_url!r} is not a URL such as http://localhost:8000")


def seconds_from(env: Mapping[str, str], name: str, default_s: float) -> float:
    """Return a time in seconds from the environment.

    Raises:
        ConfigError: it is not a number above 0.
    """
    text = env.get(name, "").strip()
    if not text:
        return default_s
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise ConfigError(f"environment: {name} must be a number of seconds above 0, not {text!r}")
    return seconds


class JsonEndpoint:
    """A server that takes and gives JSON objects.

    Args:
        settings: where it is.
    """

    def __init__(self, settings: EndpointSettings) -> None:
        self.settings = settings
        self._session: aiohttp.ClientSession | None = None

    async def wait_until_reachable(self, clock: Clock) -> None:
        """Try to connect each second until the server accepts.

        Raises:
            TurnAgentUnavailable: it did not within the settings' ``wait_s``.
        """
        parts = urlsplit(self.settings.base_url)
        host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
        deadline = clock.monotonic() + self.settings.wait_s
        while True:
            left_s = deadline - clock.monotonic()
            problem = await _try_to_connect(host, port, max(0.1, min(_POLL_S * 5, left_s)))
            if not problem:
                return
            if clock.monotonic() + _POLL_S > deadline:
                raise TurnAgentUnavailable(
                    f"adapter {self.settings.name}: nothing accepts connections at {self.settings.base_url} "
                    f"({problem}; waited {self.settings.wait_s:g} s); start the agent, or give its address"
                )
            await clock.sleep(_POLL_S)

    async def post(
        self, path: str, body: Mapping[str, object], headers: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """Send ``body`` and return the answer.

        Raises:
            TurnAgentError: no connection, no answer in time, a status other than 2xx, or no JSON object.
        """
        url = self.settings.base_url.rstrip("/") + path
        try:
            async with self._open().post(url, json=body, headers=headers, allow_redirects=False) as response:
                status, text = response.status, await response.text(errors="replace")
        except TimeoutError as error:
            raise TurnAgentError(f"{url}: no answer within {self.settings.timeout_s:g} s") from error
        except (aiohttp.ClientError, OSError) as error:
            raise TurnAgentError(f"{url}: no answer ({error or type(error).__name__})") from error
        if not 200 <= status < 300:
            raise TurnAgentError(f"{url}: HTTP {status}: {text[:_SHOWN].strip() or 'empty body'}")
        try:
            answer = json.loads(text)
        except ValueError as error:
            raise TurnAgentError(f"{url}: the answer is not JSON: {text[:_SHOWN]!r}") from error
        if not isinstance(answer, dict):
            raise TurnAgentError(f"{url}: the answer is JSON but not an object: {text[:_SHOWN]!r}")
        return answer

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            token = self.settings.token
            self._session = aiohttp.ClientSession(
                timeout=aiohttp.ClientTimeout(total=self.settings.timeout_s),
                headers={"Authorization": f"Bearer {token}"} if token else {},
            )
        return self._session


async def _try_to_connect(host: str, port: int, timeout_s: float) -> str:
    """Return why no connection was made, or an empty text."""
    try:
        async with asyncio.timeout(timeout_s):
            _, writer = await asyncio.open_connection(host, port)
    except TimeoutError:
        return "no answer to the connection attempt"
    except OSError as error:
        return error.strerror or str(error)
    writer.close()
    return ""
