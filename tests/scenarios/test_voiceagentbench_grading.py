import json
from collections.abc import Sequence

import pytest

from duologue.errors import ConfigError
from duologue.records.action import Side
from duologue.records.event import (
    BotSpeaking,
    Event,
    Fault,
    HeardText,
    SpokenText,
    ToolCalled,
    ToolReturned,
    UtterancePlayed,
)
from duologue.records.judgement import Judgement, JudgeReply
from duologue.records.outcome import Cause, OutcomeKind, StopReason
from duologue.records.result import ScenarioResult
from duologue.records.scenario import CatalogueOptions, Scenario
from duologue.scoring.score import score_trace
from duologue.testing.builders import TraceBuilder
from duologue.toolkit.checks import CHECKS
from duologue.toolkit.rules import CATALOGUES, RULES_NAME
from duologue.toolkit.run_report import RUN_REPORTS, RunContext
from duologue.trace.reader import Trace
from scenarios.voiceagentbench.grading import questions
from scenarios.voiceagentbench.observed import observe

DOMAIN = "voiceagentbench"
CATALOGUE = CATALOGUES.get(DOMAIN, RULES_NAME)
SCENARIOS = {scenario.task_id: scenario for scenario in CATALOGUE.load(CatalogueOptions())}
GRADER = CHECKS.get(DOMAIN, "tool_calls")


def heard(text: str) -> Event:
    return HeardText(side=Side.AGENT, text=text)


def spoke(text: str) -> Event:
    return SpokenText(side=Side.AGENT, text=text)


def calls(scenario: Scenario) -> list[Event]:
    made: list[Event] = []
    for number, step in enumerate(scenario.reference_actions):
        call_id = f"c{number}"
        made.append(ToolCalled(side=Side.AGENT, call_id=call_id, name=step.name, arguments=step.arguments))
        made.append(ToolReturned(side=Side.AGENT, call_id=call_id, name=step.name, result={}))
    return made


def trace(scenario: Scenario, events: Sequence[Event], end: StopReason = StopReason.EXIT, attempt: int = 1) -> Trace:
    builder = TraceBuilder(scenario)
    builder.header = builder.header.model_copy(update={"attempt": attempt})
    for event in events:
        builder.add(event)
    return builder.end(end).build()


def solved(scenario: Scenario, **options) -> Trace:
    refusal = scenario.agent.facts["refusal"]
    turns: list[Event] = []
    for index, utterance in enumerate(scenario.caller.utterances):
        turns += [UtterancePlayed(index=index), heard(utterance.transcript), spoke("Okay. ")]
    return trace(scenario, [*turns, *calls(scenario), spoke(refusal or "All done.")], **options)


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=lambda scenario: scenario.task_id)
def test_the_reference_passes_every_scenario_with_total_one(scenario: Scenario) -> None:
    result = score_trace(solved(scenario), None)
    assert result.outcome.kind is OutcomeKind.PASSED, result.outcome
    assert result.grade["task"]["total_score"] == 1.0 and result.grade["strict_pass"]
    assert result.grade["task"]["transcripts"] == [u.transcript for u in scenario.caller.utterances]
    assert set(result.grade["word_error_rates"]) == {0.0}


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=lambda scenario: scenario.task_id)
def test_a_silent_agent_passes_nothing(scenario: Scenario) -> None:
    turns = [UtterancePlayed(index=0), heard("Something.")]
    assert score_trace(trace(scenario, turns, StopReason.TIMEOUT), None).outcome.kind is OutcomeKind.FAILED


def test_names_of_tools_come_back_as_the_manifest_has_them() -> None:
    scenario = SCENARIOS["vab-ex-single-01"]
    item = {"name": "alarm.set", "parameters": {"type": "dict"}}
    side = scenario.agent.resources.model_copy(
        update={"tools": {"alarm_set": {"factory": "manifest", "manifest": item}}}
    )
    agent = scenario.agent.model_copy(update={"resources": side})
    call = ToolCalled(side=Side.AGENT, call_id="c", name="alarm_set", arguments={"a": 1})
    seen = observe(trace(scenario.model_copy(update={"agent": agent}), [heard("x"), call]))
    assert [(made.name, made.arguments, made.id) for made in seen.calls] == [("alarm.set", {"a": 1}, "c")]


def test_a_hang_up_is_no_call() -> None:
    scenario = SCENARIOS["vab-ex-safety-01"]
    hang_up = ToolCalled(side=Side.AGENT, call_id="c", name="EndConversationTool")
    turn = [UtterancePlayed(index=0), heard("x"), spoke("I cannot do that."), hang_up]
    assert score_trace(trace(scenario, turn), None).outcome.kind is OutcomeKind.PASSED


def test_words_before_the_caller_speaks_are_no_reply() -> None:
    scenario = SCENARIOS["vab-ex-safety-01"]
    greeting = [BotSpeaking(side=Side.AGENT, speaking=True), spoke("I'm sorry for the wait.")]
    seen = observe(trace(scenario, [*greeting, UtterancePlayed(index=0), heard("x")]))
    assert (seen.final_text, seen.error) == ("", None)


def test_pieces_of_one_utterance_are_one_transcript() -> None:
    scenario = SCENARIOS["vab-ex-multiturn-02"]
    turns = [
        UtterancePlayed(index=0),
        heard("What is left"),
        heard("on my card?"),
        UtterancePlayed(index=1),
        heard("Go."),
    ]
    assert observe(trace(scenario, turns)).transcripts == ["What is left on my card?", "Go."]


def test_without_marks_a_new_turn_begins_after_an_answer() -> None:
    turns = [heard("One"), heard("two."), spoke("Yes. "), heard("Three."), spoke("No.")]
    seen = observe(trace(SCENARIOS["vab-ex-multiturn-02"], turns))
    assert (seen.transcripts, seen.final_text) == (["One two.", "Three."], "No.")


def test_an_unheard_turn_is_an_error_that_forbids_passing() -> None:
    result = score_trace(trace(SCENARIOS["vab-ex-single-01"], [UtterancePlayed(index=0)]), None)
    assert result.outcome.kind is OutcomeKind.FAILED
    assert result.grade["task"]["error"] == "TranscriptMissing: nothing was heard of user turn 1"


def test_trouble_of_the_harness_is_an_error_and_not_evaluable() -> None:
    fault = Fault(cause=Cause.HARNESS, error="FixtureError", message="utterance 1: no audio")
    result = score_trace(trace(SCENARIOS["vab-ex-single-01"], [fault], StopReason.FAULT), None)
    assert (result.outcome.kind, result.outcome.cause) == (OutcomeKind.NOT_EVALUABLE, Cause.HARNESS)
    assert result.grade["task"]["error"] == "FixtureError: utterance 1: no audio"
    assert result.grade["task"]["passed"] is False


def judged(text: str = "", error: str = "") -> Judgement:
    return Judgement(model="judge-1", replies=(JudgeReply(name="coherence", text=text, error=error),))


def test_the_judge_decides_coherence_of_several_turns_only() -> None:
    dialogue, single = solved(SCENARIOS["vab-ex-multiturn-01"]), solved(SCENARIOS["vab-ex-single-01"])
    assert [question.name for question in questions(dialogue)] == ["coherence"]
    assert questions(single) == []
    assert score_trace(dialogue, None, judgement=judged('{"score": 0.8}')).grade["task"]["total_score"] == 0.98
    assert score_trace(single, None, judgement=Judgement(model="m")).grade["task"]["coherence_score"] is None
    assert GRADER.needs_judge(dialogue.header.scenario) and not GRADER.needs_judge(single.header.scenario)


@pytest.mark.parametrize("judgement", [judged("score: 1"), judged(error="HTTP 500"), Judgement(model="m")])
def test_an_unusable_judge_is_not_evaluable_and_never_a_pass(judgement: Judgement) -> None:
    result = score_trace(solved(SCENARIOS["vab-ex-multiturn-01"]), None, judgement=judgement)
    assert (result.outcome.kind, result.outcome.cause) == (OutcomeKind.NOT_EVALUABLE, Cause.JUDGE)
    assert result.grade["task"]["passed"] is False
    assert result.grade["task"]["error"] == f"JudgeError: {result.grade['judge_error']}"


def test_extra_questions_are_asked_only_when_wanted() -> None:
    found = CATALOGUE.load(CatalogueOptions(extra={"vab-judged-extras": "on"}))
    refusing = solved(next(scenario for scenario in found if scenario.task_id == "vab-ex-safety-01"))
    assert [question.name for question in questions(refusing)] == ["refusal"]
    judgement = Judgement(model="m", replies=(JudgeReply(name="refusal", text='{"score": 1}'),))
    grade = score_trace(refusing, None, judgement=judgement).grade
    assert grade["judged_refusal"] is True and grade["paper_metrics"]["RR"] == 1.0
    assert questions(solved(SCENARIOS["vab-ex-safety-01"])) == []


def test_no_transcript_and_no_expectation_reaches_a_bot() -> None:
    for scenario in SCENARIOS.values():
        sent = json.dumps(
            [scenario.agent.prompt, scenario.agent.resources.tools, scenario.agent.facts], ensure_ascii=False
        )
        assert all(utterance.transcript not in sent for utterance in scenario.caller.utterances)
        assert "required_params" not in sent


def test_unknown_flag_values_are_refused() -> None:
    with pytest.raises(ConfigError, match="--vab-mapping 'all': choose one of compat, full"):
        CATALOGUE.load(CatalogueOptions(extra={"vab-mapping": "all"}))


def run() -> list[ScenarioResult]:
    first, second = SCENARIOS["vab-ex-single-01"], SCENARIOS["vab-ex-safety-01"]
    lost = Fault(cause=Cause.TRANSPORT, error="BotUnavailable", message="gone")
    traces = [
        solved(first),
        trace(first, [lost], StopReason.FAULT, attempt=2),
        solved(second),
        solved(second, attempt=2),
    ]
    return [score_trace(item, None) for item in traces]


def test_the_report_has_the_fields_of_the_original_and_ours_apart() -> None:
    context = RunContext("2026-01-02T03:04:05+00:00", agent="my bot", suite="all", recogniser="whisper tiny.en")
    files = RUN_REPORTS.get(DOMAIN, DOMAIN).build(run(), context)
    name = "voiceagentbench_my-bot_all_2026-01-02T03-04-05+00-00.json"
    assert list(files.files) == [name]
    report = files.files[name]
    assert report["pass_at_k"] == {"1": 1.0, "2": 0.5, "4": 0.0} and report["pass_at_1"] == 1.0
    assert report["per_suite_pass_at_1"] == {"single": 0.5, "safety": 1.0}
    assert (report["seeds"], report["judge_model_name"], report["model_name"]) == (2, "none", "my bot")
    assert [(task["task_id"], task["seed"]) for task in report["tasks"]][2:] == [
        ("vab-ex-single-01", 1),
        ("vab-ex-safety-01", 1),
    ]
    assert report["extras"]["errored_tasks"] == [{"task_id": "vab-ex-single-01", "error": "BotUnavailable: gone"}]
    assert report["mean_tool_selection"] == 0.75 and report["mean_coherence"] == 0.0
    assert report["extras"]["means_without_errored"]["mean_tool_selection"] == 1.0
    assert report["extras"]["means"]["mean_coherence"] is None
    assert "tasks" not in files.summary and files.summary["tasks_run"] == 4
    assert files.summary["output_file"] == name
    json.dumps(report)


def test_a_run_of_other_scenarios_has_no_report() -> None:
    assert RUN_REPORTS.get(DOMAIN, DOMAIN).build([], RunContext("now")).files == {}
