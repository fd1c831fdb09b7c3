from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from duologue.errors import JudgeError
from duologue.scoring.judge.client import Judge, build_judge
from duologue.scoring.judge.prompt import JudgePrompt
from duologue.scoring.judge.reply import ScoreReply, parse_reply
from duologue.scoring.judge.settings import JudgeSettings
from duologue.testing.judge_double import JudgeDouble, JudgeStep, graded, judge_double

pytestmark = pytest.mark.socket

PROMPT = JudgePrompt("You grade.", "The evidence.")
SECRET = "sk-very-secret"


@dataclass
class FakeClock:
    waited: list[float] = field(default_factory=list)

    def monotonic(self) -> float:
        return sum(self.waited)

    def utc_now(self) -> datetime:
        return datetime(2025, 2, 25, tzinfo=UTC)

    async def sleep(self, seconds: float) -> None:
        self.waited.append(seconds)


def judge_of(double: JudgeDouble, *, cache: Path | None = None, **changes: Any) -> Judge:
    settings = JudgeSettings(double.url, "grader", **{"timeout_s": 5.0, **changes})
    return build_judge(settings, FakeClock(), cache)


async def ask(judge: Judge) -> ScoreReply:
    return await judge.ask(PROMPT, lambda text: parse_reply(text, 0))


async def test_request_is_the_one_of_the_contract() -> None:
    async with judge_double(graded(0.5)) as double:
        await ask(judge_of(double, api_key=SECRET))
    assert double.bodies == [
        {
            "model": "grader",
            "messages": [
                {"role": "system", "content": "You grade."},
                {"role": "user", "content": "The evidence."},
            ],
            "max_tokens": 100_000,
            "temperature": 0.0,
            "top_p": 0.95,
            "seed": 42,
        }
    ]
    assert double.headers[0]["Authorization"] == f"Bearer {SECRET}"


async def test_thinking_is_asked_for_only_when_wanted() -> None:
    async with judge_double(graded(0.5)) as double:
        await ask(judge_of(double, enable_thinking=True, thinking_token_budget=64))
    assert double.bodies[0]["chat_template_kwargs"] == {"enable_thinking": True}
    assert double.bodies[0]["thinking_token_budget"] == 64
    assert "Authorization" not in double.headers[0]


FIVE_BAD_REPLIES = {
    "prose": JudgeStep("I would give it 0.95, well done."),
    "no score": JudgeStep('{"reason": "good"}'),
    "n/a": JudgeStep('{"score": "n/a", "reason": "good"}'),
    "false in quotes": JudgeStep('{"score": "false", "reason": "good"}'),
    "timeout": JudgeStep(hangs=True),
    "NaN": JudgeStep('{"score": NaN, "reason": "good"}'),
    "boolean": JudgeStep('{"score": true, "reason": "good"}'),
    "out of range": JudgeStep('{"score": 95, "reason": "good"}'),
    "no text": JudgeStep(""),
    "cut": JudgeStep('{"score": 1, "reason": "good"}', is_cut=True),
    "no completion": JudgeStep(body='{"choices": []}'),
    "no JSON": JudgeStep(body="<html>"),
    "500": JudgeStep("broken", status=500),
    "429": JudgeStep("slow down", status=429),
}


@pytest.mark.parametrize("name", FIVE_BAD_REPLIES)
async def test_bad_reply_never_becomes_a_score(name: str, tmp_path: Path) -> None:
    async with judge_double(FIVE_BAD_REPLIES[name]) as double:
        judge = judge_of(double, cache=tmp_path, timeout_s=0.2)
        with pytest.raises(JudgeError, match=r"no usable reply in 3 attempt\(s\)"):
            await ask(judge)
        assert (double.requests, judge.cache and judge.cache.get(judge.cache_key(PROMPT))) == (3, None)


@pytest.mark.parametrize("name", FIVE_BAD_REPLIES)
async def test_good_reply_after_a_bad_one_counts(name: str) -> None:
    async with judge_double(FIVE_BAD_REPLIES[name], graded(0.7)) as double:
        judge = judge_of(double, timeout_s=0.3)
        assert (await ask(judge)).score == 0.7
    assert double.requests == 2
    assert [body["seed"] for body in double.bodies] == [42, 43]


async def test_pauses_grow_and_follow_what_the_server_asks_for() -> None:
    steps = (
        JudgeStep(status=500),
        JudgeStep(status=429, retry_after="7"),
        JudgeStep(status=429, retry_after="9999"),
        graded(1.0),
    )
    async with judge_double(*steps) as double:
        judge = judge_of(double, attempts=4)
        await ask(judge)
    assert isinstance(judge.clock, FakeClock)
    assert judge.clock.waited == [1.0, 7.0, 30.0]


@pytest.mark.parametrize(("status", "hint"), [(400, "settings"), (401, "--judge-api-key"), (404, "--judge-url")])
async def test_refused_request_is_not_repeated(status: int, hint: str) -> None:
    async with judge_double(JudgeStep(f"no {SECRET}", status=status)) as double:
        with pytest.raises(JudgeError, match=hint) as caught:
            await ask(judge_of(double, api_key=SECRET))
    assert double.requests == 1
    assert SECRET not in str(caught.value) and "<redacted>" in str(caught.value)


async def test_nobody_listening_is_an_error_after_all_attempts() -> None:
    judge = build_judge(JudgeSettings("http://127.0.0.1:9/v1", "grader", attempts=2), FakeClock(), None)
    with pytest.raises(JudgeError, match="2 attempt"):
        await ask(judge)


async def test_cache_hit_makes_no_request(tmp_path: Path) -> None:
    async with judge_double(graded(0.5), graded(0.9)) as double:
        first = await ask(judge_of(double, cache=tmp_path))
        again = await ask(judge_of(double, cache=tmp_path))
        assert (double.requests, first) == (1, again)


@pytest.mark.parametrize(
    "changes", [{"model": "other"}, {"temperature": 0.5}, {"seed": 1}, {"enable_thinking": True}, {"max_tokens": 9}]
)
async def test_other_settings_are_another_question(tmp_path: Path, changes: dict[str, Any]) -> None:
    async with judge_double(graded(0.5), graded(0.9)) as double:
        await ask(judge_of(double, cache=tmp_path))
        settings = JudgeSettings(**{"url": double.url, "model": "grader", **changes})
        assert (await ask(build_judge(settings, FakeClock(), tmp_path))).score == 0.9
        assert double.requests == 2


async def test_threshold_is_no_part_of_the_question(tmp_path: Path) -> None:
    async with judge_double(graded(0.5)) as double:
        await ask(judge_of(double, cache=tmp_path))
        await ask(judge_of(double, cache=tmp_path, threshold=0.1))
        assert double.requests == 1


async def test_probe_passes_for_any_reply_and_names_a_wrong_key() -> None:
    async with judge_double(JudgeStep(""), JudgeStep("who are you", status=401)) as double:
        await judge_of(double).probe()
        assert double.bodies[0]["max_tokens"] == 16
        with pytest.raises(JudgeError, match="401"):
            await judge_of(double).probe()


def test_secrets_are_in_no_text() -> None:
    settings = JudgeSettings(f"https://me:{SECRET}@host/v1?key={SECRET}", "grader", api_key=SECRET)
    assert SECRET not in repr(settings)
    assert settings.shown_url == "https://host/v1"
