"""Stored replies of a judge, for tests."""

from typing import Any

from duologue.records.judge import JudgeInput, JudgeProvenance, JudgeResult, StatementVerdict


def judge_result(score: float | None, *, claims: dict[str, bool] | None = None, **changes: Any) -> JudgeResult:
    verdicts = tuple(
        StatementVerdict(index=index, assertion=text, passed=passed, reason=f"because {index}")
        for index, (text, passed) in enumerate((claims or {}).items(), start=1)
    )
    provenance = JudgeProvenance(
        judge_version=1, prompt_digest="p", evidence_digest="e", trace_digest="t", url="http://j", model="grader"
    )
    values: dict[str, Any] = {
        "score": score,
        "reason": "It was done." if score is not None else "",
        "judge_input": JudgeInput(system_prompt="s", user_content="u"),
        "nl_assertion_verdicts": verdicts or None,
        "threshold": 0.9,
        "error": "" if score is not None else "it gave no usable reply",
        "provenance": provenance,
    }
    return JudgeResult(**{**values, **changes})
