from duologue.records.outcome import Cause, Outcome, OutcomeKind, Verdict
from duologue.scoring.composite import Composite, combine, gating_signals
from duologue.toolkit.evidence import Problem, ScoringMode
from tests.scoring.shop import ACTIONS, EXIT, PREDICATES, STATE, shop_scenario

GATES = ("db_state_assertion", "clean_exit")


def verdict(name: str, passed: bool | None, cause: Cause | None = None, *, holds: bool = False) -> Verdict:
    return Verdict(signal=name, version=1, passed=passed, evaluable=cause is None, cause=cause, holds_initially=holds)


def combined(*verdicts: Verdict, gates: tuple[str, ...] = GATES, too_few: bool = False) -> Composite:
    return combine(verdicts, gates, (), ScoringMode.DUOLOGUE, too_few_turns=too_few)


def test_all_gates_passed_is_a_pass() -> None:
    found = combined(verdict("db_state_assertion", True), verdict("clean_exit", True))
    assert (found.outcome, found.is_task_successful) == (Outcome(kind=OutcomeKind.PASSED), True)


def test_signals_outside_the_gates_are_excluded() -> None:
    found = combined(verdict("db_state_assertion", True), verdict("clean_exit", True), verdict("db_state_match", False))
    assert found.outcome.kind is OutcomeKind.PASSED
    assert found.breakdown.excluded == ("db_state_match",)


def test_a_problem_of_the_attempt_outweighs_every_verdict() -> None:
    verdicts = (verdict("db_state_assertion", False), verdict("clean_exit", False))
    found = combine(verdicts, GATES, (Problem(Cause.SYNC, "drift"),), ScoringMode.DUOLOGUE)
    assert found.outcome == Outcome(kind=OutcomeKind.NOT_EVALUABLE, cause=Cause.SYNC, detail="drift")
    assert found.is_task_successful is None


def test_missing_evidence_outweighs_a_failed_gate() -> None:
    found = combined(verdict("db_state_assertion", None, Cause.TRANSPORT), verdict("clean_exit", False))
    assert (found.outcome.kind, found.outcome.cause) == (OutcomeKind.NOT_EVALUABLE, Cause.TRANSPORT)


def test_a_failed_gate_stands_against_a_missing_judge() -> None:
    found = combined(
        verdict("nl_assertion", None, Cause.JUDGE), verdict("clean_exit", False), gates=("nl_assertion", "clean_exit")
    )
    assert (found.outcome.kind, found.is_task_successful) == (OutcomeKind.FAILED, None)


def test_a_gate_without_a_verdict_never_passes() -> None:
    found = combined(verdict("db_state_assertion", None), verdict("clean_exit", True))
    assert (found.outcome.kind, found.breakdown.not_applicable) == (
        OutcomeKind.NOT_EVALUABLE,
        ("db_state_assertion",),
    )


def test_an_unknown_gate_never_passes() -> None:
    found = combined(verdict("clean_exit", True), verdict("db_state_assertion", True), gates=(*GATES, "other"))
    assert found.outcome.kind is OutcomeKind.NOT_EVALUABLE


def test_one_gate_that_asks_for_something_is_enough() -> None:
    gates = ("db_state_assertion", "is_action_match", "clean_exit")
    held = verdict("db_state_assertion", True, holds=True)
    found = combined(held, verdict("is_action_match", True), verdict("clean_exit", True), gates=gates)
    assert found.outcome.kind is OutcomeKind.PASSED


def test_too_few_turns_fail_both_verdicts() -> None:
    found = combined(verdict("db_state_assertion", True), verdict("clean_exit", True), too_few=True)
    assert (found.outcome.kind, found.is_task_successful) == (OutcomeKind.FAILED, False)


def test_reference_mode_has_no_action_gate_beside_predicates() -> None:
    scenario = shop_scenario(success_signals=(PREDICATES, ACTIONS, EXIT))
    assert gating_signals(scenario, ScoringMode.DUOLOGUE) == (PREDICATES, ACTIONS, EXIT)
    assert gating_signals(scenario, ScoringMode.REFERENCE) == (PREDICATES, EXIT)


def test_reference_mode_keeps_the_action_gate_elsewhere() -> None:
    scenario = shop_scenario(success_signals=(STATE, ACTIONS, EXIT))
    assert gating_signals(scenario, ScoringMode.REFERENCE) == (STATE, ACTIONS, EXIT)


def test_gates_that_hold_before_the_call_earn_nothing() -> None:
    found = combined(verdict("db_state_assertion", True, holds=True), verdict("clean_exit", True))
    assert (found.outcome.kind, found.outcome.cause) == (OutcomeKind.NOT_EVALUABLE, Cause.HARNESS)
    assert found.is_task_successful is None
