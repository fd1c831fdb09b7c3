"""Questions of checks put to a judge, round by round."""

from __future__ import annotations

from duologue.errors import JudgeError
from duologue.records.judgement import Judgement, JudgeReply
from duologue.scoring.checking import MAX_ROUNDS, OpenQuestion, open_questions
from duologue.scoring.judge.client import Judge
from duologue.scoring.judge.prompt import JudgePrompt
from duologue.scoring.judge.reply import require_object
from duologue.toolkit.evidence import Evidence


async def answer_rounds(judge: Judge, evidence: Evidence) -> Judgement:
    """Ask what the checks ask, until they ask no more or the rounds are used up."""
    judgement = Judgement(model=judge.settings.model)
    for number in range(1, MAX_ROUNDS + 1):
        asked = open_questions(evidence, judgement)
        if not asked:
            break
        replies = [await _answer(judge, item, number) for item in asked]
        judgement = judgement.model_copy(update={"replies": (*judgement.replies, *replies)})
    return judgement


async def _answer(judge: Judge, asked: OpenQuestion, number: int) -> JudgeReply:
    question = asked.question
    try:
        text = await judge.ask(JudgePrompt(question.system, question.user), require_object)
        return JudgeReply(name=question.name, text=text, check=asked.check, round=number)
    except JudgeError as error:
        return JudgeReply(name=question.name, error=str(error), check=asked.check, round=number)
