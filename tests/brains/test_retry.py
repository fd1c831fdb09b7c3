import importlib
import importlib.util

import openai
import pytest

from duologue.bots.brains.retry import ReplyCut, RetryPolicy, describe_failure

POLICY = RetryPolicy(retries=2, timeout_s=60)
httpx = importlib.import_module("httpx2" if importlib.util.find_spec("httpx2") else "httpx")
REQUEST = httpx.Request("POST", "http://model/v1/chat/completions")


def status(code: int, **headers: str) -> openai.APIStatusError:
    response = httpx.Response(code, headers=headers, request=REQUEST)
    return openai.APIStatusError(f"Error code: {code} for key-123", response=response, body=None)


def test_pauses_grow_and_end_with_the_retries() -> None:
    assert [POLICY.wait_s(status(500), sent) for sent in (1, 2, 3)] == [0.5, 1.0, None]


def test_server_says_how_long_to_wait() -> None:
    assert POLICY.wait_s(status(429, **{"retry-after": "3"}), 1) == 3.0
    assert POLICY.wait_s(status(429, **{"retry-after": "soon"}), 1) == 0.5
    assert POLICY.wait_s(status(429, **{"retry-after": "3600"}), 1) is None


@pytest.mark.parametrize("error", [openai.APIConnectionError(request=REQUEST), ReplyCut("cut"), status(503)])
def test_what_may_pass_is_tried_again(error: Exception) -> None:
    assert POLICY.wait_s(error, 1) == 0.5


@pytest.mark.parametrize(
    "error", [status(400), status(401), status(404), openai.APITimeoutError(REQUEST), TimeoutError(), KeyError("x")]
)
def test_what_will_not_pass_is_not_tried_again(error: Exception) -> None:
    assert POLICY.wait_s(error, 1) is None


def test_description_names_address_count_and_reason_but_no_key() -> None:
    text = describe_failure(status(429), url="http://model/v1", model="m", policy=POLICY, requests=3, secret="key-123")
    assert text == "the model m at http://model/v1 gave no reply after 3 requests: HTTP 429: Error code: 429 for ***"
