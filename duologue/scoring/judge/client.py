"""The client of a judge: an OpenAI-compatible chat endpoint that is asked, and asked again, for a valid reply."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import aiohttp

from duologue.clock import Clock
from duologue.errors import JudgeError
from duologue.scoring.judge.cache import JudgeCache
from duologue.scoring.judge.prompt import JUDGE_VERSION, JudgePrompt
from duologue.scoring.judge.settings import JudgeSettings

REDACTED = "<redacted>"
MAX_BODY_BYTES = 8 * 1024 * 1024  # a verdict has some kilobytes; more is a mistake and would fill the memory
_RETRIED = frozenset({408, 409, 425, 429})
_FIRST_PAUSE_S = 1.0  # doubles with each try
_LONGEST_PAUSE_S = 30.0  # endpoints name minutes at times; a batch goes on sooner by trying
_SHOWN_CHARS = 300  # of an endpoint's words in a message

T = TypeVar("T")

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class Judge:
    """Asks one judge. Holds no connection between questions.

    Args:
        settings: whom to ask, and how.
        clock: waits between attempts.
        cache: where valid replies are kept; None asks every time.
    """

    settings: JudgeSettings
    clock: Clock
    cache: JudgeCache | None = None

    async def ask(self, prompt: JudgePrompt, parse: Callable[[str], T], *, version: int = JUDGE_VERSION) -> T:
        """Return the parsed reply to ``prompt``, from the cache if it is there.

        Args:
            prompt: the two messages.
            parse: reply text to value; raises JudgeError for what is no valid reply.
            version: of prompt and parser, part of the cache key.

        Raises:
            JudgeError: no valid reply after all attempts, or the endpoint refuses the request.
        """
        key = self.cache_key(prompt, version)
        stored = self.cache.get(key) if self.cache is not None else None
        if stored is not None:
            try:
                return parse(stored)
            except JudgeError:
                logger.warning("a stored reply of the judge is no valid reply; asking again")
        text, value = await self._ask_until_valid(prompt, parse)
        if self.cache is not None:
            self.cache.put(key, text)
        return value

    def cache_key(self, prompt: JudgePrompt, version: int = JUDGE_VERSION) -> dict[str, object]:
        """Return everything that a reply depends on."""
        return {
            "version": version,
            "prompt_digest": prompt.prompt_digest,
            "evidence_digest": prompt.evidence_digest,
            "url": self.settings.shown_url,
            "model": self.settings.model,
            "sampling": self.settings.sampling(),
        }

    async def probe(self) -> None:
        """Ask for one token, so that a wrong address, key or model shows before any call.

        Raises:
            JudgeError: the endpoint cannot be used; the message says why.
        """
        prompt = JudgePrompt("You answer with one word.", "Say yes.")
        probe = replace(self, settings=replace(self.settings, max_tokens=min(16, self.settings.max_tokens)), cache=None)
        await probe._ask_until_valid(prompt, lambda text: text, needs_text=False)

    async def _ask_until_valid(
        self, prompt: JudgePrompt, parse: Callable[[str], T], *, needs_text: bool = True
    ) -> tuple[str, T]:
        problems: list[str] = []
        for attempt in range(self.settings.attempts):
            if attempt:
                logger.warning("asking the judge again", extra={"attempt": attempt + 1, "problem": problems[-1]})
            try:
                text = await self._request(self._body(prompt, attempt), needs_text=needs_text)
                return text, parse(text)
            except _Busy as error:
                problems.append(self._redact(str(error)))
                pause_s = error.pause_s
            except JudgeError as error:
                problems.append(self._redact(str(error)))
                if not error.retryable:
                    break
                pause_s = None
            if attempt + 1 < self.settings.attempts:
                longest = min(_FIRST_PAUSE_S * 2**attempt, _LONGEST_PAUSE_S)
                await self.clock.sleep(longest if pause_s is None else min(pause_s, _LONGEST_PAUSE_S))
        where = f"{self.settings.model} at {self.settings.shown_url}"
        raise JudgeError(f"{where} gave no usable reply in {len(problems)} attempt(s): {'; '.join(problems)}")

    def _body(self, prompt: JudgePrompt, attempt: int) -> dict[str, Any]:
        """Return the request; a repetition has the next seed, or the same bad reply would come back."""
        fields = self.settings.sampling()
        fields["seed"] += attempt
        messages = [{"role": "system", "content": prompt.system}, {"role": "user", "content": prompt.user}]
        return {"model": self.settings.model, "messages": messages, **fields}

    async def _request(self, body: Mapping[str, object], *, needs_text: bool) -> str:
        headers = {"Authorization": f"Bearer {self.settings.api_key}"} if self.settings.api_key else {}
        timeout = aiohttp.ClientTimeout(total=self.settings.timeout_s)
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout, trust_env=True) as session,
                session.post(self.settings.url, json=body, headers=headers, allow_redirects=False) as response,
            ):
                content = await _read(response)
                _check_status(response.status, content, response.headers.get("Retry-After"))
        except TimeoutError as error:
            raise JudgeError(f"no reply within {self.settings.timeout_s:g} s", retryable=True) from error
        except (aiohttp.InvalidURL, ValueError) as error:
            raise JudgeError(f"{self.settings.shown_url} is not an address ({type(error).__name__})") from error
        except (aiohttp.ClientError, OSError) as error:
            raise JudgeError(f"{type(error).__name__}: {error}", retryable=True) from error
        return _content_of(content, needs_text=needs_text)

    def _redact(self, text: str) -> str:
        secrets = [self.settings.api_key, urlsplit(self.settings.url).query, urlsplit(self.settings.url).password]
        for secret in secrets:
            if secret:
                text = text.replace(secret, REDACTED)
        return text


def build_judge(settings: JudgeSettings, clock: Clock, cache: Path | None) -> Judge:
    """Return a judge that keeps its valid replies in the folder ``cache``, or nowhere."""
    return Judge(settings, clock, JudgeCache(cache) if cache is not None else None)


class _Busy(JudgeError):
    """The endpoint asks for patience; ``pause_s`` is how long, if it says so."""

    def __init__(self, message: str, pause_s: float | None) -> None:
        super().__init__(message, retryable=True)
        self.pause_s = pause_s


async def _read(response: aiohttp.ClientResponse) -> bytes:
    content = bytearray()
    async for chunk in response.content.iter_chunked(65536):
        content += chunk
        if len(content) > MAX_BODY_BYTES:
            raise JudgeError(f"the reply is larger than {MAX_BODY_BYTES} bytes", retryable=True)
    return bytes(content)


def _check_status(status: int, content: bytes, retry_after: str | None) -> None:
    if status == 200:
        return
    said = " ".join(content.decode("utf-8", "replace").split())[:_SHOWN_CHARS]
    if status in _RETRIED or status >= 500:
        seconds = float(retry_after) if retry_after and retry_after.isdecimal() else None
        raise _Busy(f"HTTP {status}: {said}", seconds)
    hint = {
        401: "; set --judge-api-key, or the variable that --judge-api-key-name names",
        403: "; the key may not use this model",
        404: "; check --judge-url (it ends with /chat/completions as a rule) and --judge-model",
        400: "; it may not take one of the settings, for example --judge-max-tokens",
    }.get(status, "")
    raise JudgeError(f"HTTP {status}: {said}{hint}")


def _content_of(content: bytes, *, needs_text: bool) -> str:
    """Return the text of the first choice of a chat completion."""
    try:
        message = json.loads(content)["choices"][0]["message"]
        text = message.get("content")
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        raise JudgeError(f"not a chat completion ({type(error).__name__})", retryable=True) from error
    if not needs_text:
        return text if isinstance(text, str) else ""
    if not isinstance(text, str) or not text.strip():
        raise JudgeError("the reply holds no text", retryable=True)
    return text
