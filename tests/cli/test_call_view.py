from duologue.cli.call_view import CallView, Score, clock_text, outcome_text
from duologue.records.action import Side
from duologue.records.event import BotSpeaking, Fault, SpokenText, ToolCalled
from duologue.records.outcome import Cause, Outcome, OutcomeKind
from duologue.records.result import ScenarioResult


def result(outcome: Outcome) -> ScenarioResult:
    return ScenarioResult(
        run_id="r",
        attempt=1,
        seed=0,
        scenario="shop__x",
        domain="shop",
        prefix="shop",
        family="",
        profile="default",
        scored_as="duologue",
        outcome=outcome,
    )


def test_words_become_the_utterance_of_their_side() -> None:
    view = CallView()
    view.see(BotSpeaking(side=Side.AGENT, speaking=True))
    view.see(SpokenText(side=Side.AGENT, text="Hello "))
    view.see(SpokenText(side=Side.AGENT, text="there."))
    assert view.said[Side.AGENT] == "Hello there."
    assert view.see(BotSpeaking(side=Side.AGENT, speaking=False)) == (Side.AGENT, "Hello there.")
    assert view.turns == 1


def test_next_utterance_replaces_the_last() -> None:
    view = CallView()
    for text in ("One.", "Two."):
        view.see(BotSpeaking(side=Side.USER, speaking=True))
        view.see(SpokenText(side=Side.USER, text=text))
        view.see(BotSpeaking(side=Side.USER, speaking=False))
    assert (view.said[Side.USER], view.turns) == ("Two.", 2)


def test_tool_and_fault_are_shown_on_one_line() -> None:
    view = CallView()
    view.see(ToolCalled(side=Side.USER, call_id="1", name="pay", arguments={"note": "a\nb"}))
    view.see(Fault(cause=Cause.SYNC, error="ReconcileFailed", message="digests\ndiffer"))
    assert view.tool == "user: pay(note='a\\nb')"
    assert view.fault == "sync: digests differ"


def test_score_leaves_out_what_is_not_evaluable() -> None:
    score = Score()
    for kind in (OutcomeKind.PASSED, OutcomeKind.FAILED, OutcomeKind.NOT_EVALUABLE):
        score.add(result(Outcome(kind=kind)))
    assert str(score) == "1 of 2 passed, 1 not evaluable"


def test_texts_for_people() -> None:
    assert clock_text(125_900) == "2:05"
    assert outcome_text(result(Outcome(kind=OutcomeKind.NOT_EVALUABLE, cause=Cause.SYNC))) == "not evaluable (sync)"
