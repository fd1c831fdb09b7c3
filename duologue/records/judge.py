"""What a judge was asked and what it said: the content of ``judge_result.json``."""

from __future__ import annotations

from pydantic import Field

from duologue.records.record import Record

JUDGE_SCHEMA = 1  # goes up when a reader of this version could misread the file


class StatementVerdict(Record):
    """A judge's verdict on one statement. ``index`` counts from 1 in the order of the scenario."""

    index: int
    assertion: str
    passed: bool
    reason: str = ""


class JudgeInput(Record):
    """The two messages that a judge was given."""

    system_prompt: str
    user_content: str


class JudgeProvenance(Record):
    """Which judge was asked, how, and about what. Holds no secret.

    ``sampling`` is every field of the request that can change the reply. Whether a reply came from the cache is not
    kept: it gives the same file as the request that filled it.
    """

    judge_version: int
    prompt_digest: str
    evidence_digest: str
    trace_digest: str
    url: str
    model: str
    sampling: dict[str, object] = Field(default_factory=dict)


class JudgeResult(Record):
    """One attempt as a judge sees it.

    ``score`` is None when the judge gave no usable reply: then ``error`` says why, and nothing is decided.
    ``threshold`` is what the score has to reach. ``nl_assertion_…`` are None when the scenario has no statements,
    or the judge gave no reply.
    """

    schema_version: int = JUDGE_SCHEMA
    score: float | None
    reason: str
    judge_input: JudgeInput
    nl_assertion_verdicts: tuple[StatementVerdict, ...] | None = None
    nl_assertion_pass_count: int | None = None
    nl_assertion_total: int | None = None
    nl_assertion_pass_rate: float | None = None
    threshold: float
    error: str = ""
    provenance: JudgeProvenance
