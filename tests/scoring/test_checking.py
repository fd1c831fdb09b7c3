"""A domain's own checks: what they decide, what they report, and what they ask a judge."""

import importlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from duologue.clock import SystemClock
from duologue.errors import RegistryError, ScenarioError
from duologue.records.action import Side
from duologue.records.outcome import Cause, OutcomeKind
from duologue.records.scenario import Scenario, SignalName
from duologue.registry import load_domain
from duologue.reports.summary import render_text
from duologue.runner.build import check_scenarios
from duologue.scoring.aggregate import aggregate_results
from duologue.scoring.checking import MAX_ROUNDS
from duologue.scoring.evidence import collect_evidence
from duologue.scoring.judge.client import build_judge
from duologue.scoring.judge.rounds import answer_rounds
from duologue.scoring.judge.settings import JudgeSettings
from duologue.scoring.score import score_trace
from duologue.testing.builders import TraceBuilder
from duologue.testing.judge_double import JudgeStep, judge_double
from duologue.toolkit.checks import CHECKS, ENGINE, choose_checks
from duologue.toolkit.evidence import ScoringMode
from duologue.trace.reader import Trace
from tests.scoring.shop import shop_scenario

DOMAIN = "bakery"
SOURCE = """
from duologue.records.action import Side
from duologue.toolkit.checks import Ask, CheckRole, Finding, JudgeQuestion, Meaning, caller_meanings, check
from duologue.toolkit.utterances import Utterance


@check("bakery", "says_bread", version=1)
def says_bread(evidence):
    said = [deed.text for deed in evidence.deeds if isinstance(deed, Utterance) and deed.side is Side.AGENT]
    return Finding(any("bread" in text for text in said), "looked for bread")


@check("bakery", "polite_caller", version=1, role=CheckRole.REPORTS)
def polite_caller(evidence):
    return Finding(False, "the caller never said please")


@check("bakery", "asks_on", version=1)
def asks_on(evidence):
    if evidence.scenario.task_id != "asking":
        return None
    count = len(evidence.answers.replies)
    if count == int(evidence.scenario.grading["questions"]):
        return Finding(True, f"{count} answers")
    return Ask([JudgeQuestion(name=f"q{count}", system="s", user=f"question {count}")])


@caller_meanings("bakery")
def meanings(scenario):
    return {"caller_part": Meaning.REPORT, "caller_role": Meaning.OFF}
"""


@pytest.fixture(autouse=True, scope="module")
def bakery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    root: Path = tmp_path_factory.mktemp("roots")
    for place in ("scenarios", "tools"):
        (root / place / DOMAIN).mkdir(parents=True)
        (root / place / DOMAIN / "__init__.py").write_text(SOURCE if place == "tools" else "", encoding="utf-8")
    packages = [importlib.import_module(name) for name in ("scenarios", "tools", "sync")]
    paths = [list(package.__path__) for package in packages]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DUOLOGUE_DOMAINS", os.pathsep.join([str(root)]))
        load_domain(DOMAIN)
        yield
    for package, before in zip(packages, paths, strict=True):
        package.__path__[:] = before


def scenario(*gates: str, **changes: object) -> Scenario:
    plain = {"domain": DOMAIN, "reference_actions": (), "db_state_assertions": (), "success_signals": gates}
    return shop_scenario(**{**plain, **changes})


def call(given: Scenario, line: str = "We have bread.", caller: str = "Help.") -> Trace:
    return TraceBuilder(given).say(Side.AGENT, line, 0, 500).say(Side.USER, caller, 900, 1500).hang_up().build()


@pytest.mark.parametrize(("line", "kind"), [("We have bread.", OutcomeKind.PASSED), ("No.", OutcomeKind.FAILED)])
def test_a_domains_check_gates_and_its_report_shows(line: str, kind: OutcomeKind) -> None:
    result = score_trace(call(scenario("says_bread", SignalName.CLEAN_EXIT), line), None)
    assert result.outcome.kind is kind, result.outcome
    assert [(item.signal, item.passed) for item in result.reports][-1] == ("polite_caller", False)
    assert result.model_dump(mode="json")["reports"][-1]["signal"] == "polite_caller"
    assert "reported polite_caller" in render_text([result], aggregate_results([result]))


def test_a_domain_says_what_a_caller_check_means() -> None:
    talk = call(scenario("says_bread"), caller="As an AI, how can I help you?")
    result = score_trace(talk, None)
    assert result.outcome.kind is OutcomeKind.PASSED
    assert ("caller_part", False) in [(item.signal, item.passed) for item in result.reports]
    assert {"caller_part", "caller_role"}.isdisjoint(item.signal for item in result.caller)


def test_an_unknown_name_is_an_error_before_the_call() -> None:
    with pytest.raises(ScenarioError, match=r"shop__price: nobody registered a check 'crust'; known: .*says_bread"):
        check_scenarios([scenario("crust")])
    with pytest.raises(RegistryError, match=r"polite_caller.*cannot decide"):
        score_trace(call(scenario("polite_caller")), None)


def test_a_name_is_registered_once() -> None:
    with pytest.raises(RegistryError, match="registered twice"):
        CHECKS.register(DOMAIN, "says_bread", CHECKS.get(DOMAIN, "says_bread"), owner="other")


def test_a_domains_check_cannot_take_the_name_of_one_of_the_engines() -> None:
    CHECKS.register("copycat", "clean_exit", CHECKS.get(ENGINE, "clean_exit"), owner=__name__)
    with pytest.raises(RegistryError, match=r"'clean_exit' of domain 'copycat' has the name of one of the engine's"):
        choose_checks(scenario("clean_exit", domain="copycat"))


@pytest.mark.socket
@pytest.mark.parametrize(("wanted", "asked"), [(3, 3), (MAX_ROUNDS, MAX_ROUNDS), (MAX_ROUNDS + 1, MAX_ROUNDS)])
async def test_a_check_asks_in_rounds_up_to_a_limit(wanted: int, asked: int) -> None:
    trace = call(scenario("asks_on", task_id="asking", grading={"questions": wanted}))
    async with judge_double(JudgeStep('{"ok": true}')) as double:
        judge = build_judge(JudgeSettings(double.url, "grader", attempts=1), SystemClock(), None)
        judgement = await answer_rounds(judge, collect_evidence(trace, ScoringMode.DUOLOGUE))
        assert double.requests == asked
    outcome = score_trace(trace, None, judgement=judgement).outcome
    assert outcome == score_trace(trace, None, judgement=type(judgement).model_validate(judgement.model_dump())).outcome
    if wanted <= MAX_ROUNDS:
        assert outcome.kind is OutcomeKind.PASSED
    else:
        assert outcome.cause is Cause.JUDGE and f"after {MAX_ROUNDS} rounds" in outcome.detail


def test_a_check_that_asks_needs_a_judge() -> None:
    trace = call(scenario("asks_on", task_id="asking", grading={"questions": 1}))
    assert score_trace(trace, None).outcome.detail == "asks_on: the check needs a judge"
