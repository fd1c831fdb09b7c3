"""The table of docs/llm.md: what each fault of a model makes of a call."""

from pathlib import Path

import pytest

from duologue.bots.services import Models
from duologue.records.event import BotMessage, CallEnded, Fault, ToolReturned
from duologue.records.outcome import Cause, OutcomeKind, StopReason
from duologue.testing.model_script import MISSING_TOOL, FaultKind, ModelFault, parse_fault
from tests.calls.llm_stage import play
from tests.present import present

pytestmark = [pytest.mark.socket, pytest.mark.speech]

MODELS = {"agent": "reference", "user": "scripted_user"}


async def test_passing_faults_change_nothing(tmp_path: Path, models: Models) -> None:
    faults = ["429=0.1@2", "500@4", "cut@6", "slow=0.3@7"]
    played = await play(tmp_path, models, *map(parse_fault, faults))
    assert played.result.outcome.kind is OutcomeKind.PASSED, played.result.outcome
    assert not played.trace.of(Fault) and not played.trace.of(BotMessage)


@pytest.mark.parametrize(
    ("side", "text", "reason"),
    [
        ("agent", "429", "after 3 requests: HTTP 429"),
        ("agent", "500", "after 3 requests: HTTP 500"),
        ("agent", "cut", "after 3 requests: connection failed"),
        ("agent", "hang", "no whole reply within 5 s (llm.request_timeout_s)"),
        ("user", "500", "after 3 requests: HTTP 500"),
    ],
)
async def test_lasting_faults_end_the_attempt_unevaluated(
    tmp_path: Path, models: Models, side: str, text: str, reason: str
) -> None:
    fault = ModelFault(FaultKind(text), 2, times=100, seconds=0.05, model=MODELS[side])
    played = await play(tmp_path, models, fault)
    outcome = played.result.outcome
    assert (outcome.kind, outcome.cause) == (OutcomeKind.NOT_EVALUABLE, Cause.TRANSPORT)
    assert f"the {side} bot reported a fatal error: the model {MODELS[side]}" in outcome.detail
    assert reason in outcome.detail
    assert present(played.trace.last(CallEnded)).stop_reason is StopReason.BOT_LOST
    assert [(event.side, event.cause) for event in played.trace.of(Fault)] == [(side, Cause.TRANSPORT)]


async def test_wrong_calls_are_answered_and_the_call_goes_on(tmp_path: Path, models: Models) -> None:
    faults = [f"{kind}@2/{model}" for kind in ("malformed", "unknown_tool") for model in MODELS.values()]
    played = await play(tmp_path, models, *map(parse_fault, faults))
    assert played.result.outcome.kind is OutcomeKind.PASSED, played.result.outcome
    errors = [(event.side, event.name, event.result.get("error_type")) for event in played.trace.of(ToolReturned)]
    for side in MODELS:
        assert (side, MISSING_TOOL, "unknown_tool") in errors
        assert any(error[0] == side and error[2] == "invalid_arguments" for error in errors)
