"""One attempt put to a judge: evidence in, what is stored of the judge's reply out."""

from __future__ import annotations

from duologue.errors import JudgeError
from duologue.records.judge import JudgeInput, JudgeProvenance, JudgeResult, StatementVerdict
from duologue.scoring.judge.client import Judge
from duologue.scoring.judge.evidence import build_sections, has_observations
from duologue.scoring.judge.prompt import JUDGE_VERSION, JudgePrompt, build_prompt
from duologue.scoring.judge.reply import ScoreReply, parse_reply
from duologue.toolkit.evidence import Evidence


async def judge_attempt(judge: Judge, evidence: Evidence, trace_digest: str) -> JudgeResult:
    """Ask the judge about an attempt. Never raises for a judge that does not answer: then ``score`` is None.

    Without anything of the agent to be seen there is nothing to ask; no request is made.
    """
    settings = judge.settings
    sections = build_sections(evidence, with_conversation=settings.include_conversation, compaction=settings.compaction)
    prompt = build_prompt(sections)
    statements = evidence.scenario.nl_assertions
    reply, problem = None, "nothing that the agent said or did is in the trace"
    if has_observations(evidence.trace):
        try:
            reply, problem = await judge.ask(prompt, lambda text: parse_reply(text, len(statements))), ""
        except JudgeError as error:
            problem = str(error)
    return _result(judge, prompt, statements, reply, problem, trace_digest)


def _result(
    judge: Judge,
    prompt: JudgePrompt,
    statements: tuple[str, ...],
    reply: ScoreReply | None,
    problem: str,
    trace_digest: str,
) -> JudgeResult:
    settings = judge.settings
    verdicts = _verdicts(statements, reply)
    passed = sum(verdict.passed for verdict in verdicts) if verdicts else None
    return JudgeResult(
        score=reply.score if reply is not None else None,
        reason=reply.reason if reply is not None else "",
        judge_input=JudgeInput(system_prompt=prompt.system, user_content=prompt.user),
        nl_assertion_verdicts=verdicts,
        nl_assertion_pass_count=passed,
        nl_assertion_total=len(verdicts) if verdicts else None,
        nl_assertion_pass_rate=passed / len(verdicts) if verdicts and passed is not None else None,
        threshold=settings.threshold,
        error=problem,
        provenance=JudgeProvenance(
            judge_version=JUDGE_VERSION,
            prompt_digest=prompt.prompt_digest,
            evidence_digest=prompt.evidence_digest,
            trace_digest=trace_digest,
            url=settings.shown_url,
            model=settings.model,
            sampling=settings.sampling(),
        ),
    )


def _verdicts(statements: tuple[str, ...], reply: ScoreReply | None) -> tuple[StatementVerdict, ...] | None:
    if not statements or reply is None:
        return None
    return tuple(
        StatementVerdict(index=index, assertion=text, passed=claim.passed, reason=claim.reason)
        for index, (text, claim) in enumerate(zip(statements, reply.claims, strict=True), start=1)
    )
