import pytest

from duologue.records.action import Side
from duologue.records.event import BotReady, FinalState, StateChecked, SummaryPulled, TraceHeader
from duologue.records.outcome import EvidenceSource
from duologue.scoring.sources import evidence_sources
from duologue.state.canonical import contract_hash
from duologue.trace.reader import Trace
from tests.bridge.counter_shop import shop_scenario

DB = {"order": {"status": "paid", "total": 3.0}}
FINAL = FinalState(agent_db=DB, user_db=None, agent_digest="d", user_digest=None)
FORWARDS = BotReady(side=Side.AGENT, about={"capabilities": {"tools": "harness"}})


def summary(**fields: object) -> SummaryPulled:
    return SummaryPulled.model_validate({"side": Side.AGENT, **fields})


def checked(*, equal: bool, repaired: bool = False) -> StateChecked:
    return StateChecked(side=Side.AGENT, bot_digest="b", shadow_digest="d", equal=equal, repaired=repaired)


@pytest.mark.parametrize(
    ("events", "source"),
    [
        ([FORWARDS, summary()], EvidenceSource.HARNESS),
        ([checked(equal=False), checked(equal=True, repaired=True), summary()], EvidenceSource.DIGEST),
        ([checked(equal=True), checked(equal=False, repaired=True), summary()], EvidenceSource.CONTRADICTED),
        ([summary(db_hash=contract_hash(DB))], EvidenceSource.HASH),
        ([summary(db={"order": {"status": "paid", "total": 3}})], EvidenceSource.HASH),
        ([summary(db_hash=contract_hash(DB), db={"order": {}})], EvidenceSource.CONTRADICTED),
        ([summary(db_hash="0")], EvidenceSource.CONTRADICTED),
        ([summary()], EvidenceSource.SELF_REPORTED),
        ([], EvidenceSource.NONE),
    ],
)
def test_the_source_of_a_final_state_is_named(events: list, source: EvidenceSource) -> None:
    header = TraceHeader(run_id="r", epoch="e", utc_started="2025-02-25T00:00:00Z", scenario=shop_scenario())
    assert evidence_sources(Trace(header, (*events, FINAL))) == {Side.AGENT: source}


def test_an_attempt_that_never_began_has_no_sources() -> None:
    header = TraceHeader(run_id="r", epoch="e", utc_started="2025-02-25T00:00:00Z", scenario=shop_scenario())
    assert evidence_sources(Trace(header, ())) == {}
