"""The scored attempt: a pure function of one trace and its recording."""

from __future__ import annotations

from typing import Any

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from duologue.records.action import RecordedAction, Side
from duologue.records.conditions import CLEAN, LineConditions
from duologue.records.outcome import EvidenceSource, Outcome, OutcomeKind, StopReason, Verdict
from duologue.records.record import Record

__all__ = [
    "Breakdown",
    "ConversationFigures",
    "ExpectedEnd",
    "Interruption",
    "LatencyReport",
    "LatencyStats",
    "Overlap",
    "Percentiles",
    "ResponseLatency",
    "ScenarioResult",
    "TokenUse",
    "Turn",
    "UnplacedText",
]

RESULT_SCHEMA = 1  # goes up when a reader of this version could misread the file


class Turn(Record):
    """One side's stretch of speech, in media milliseconds, with the words that were played.

    ``cut`` says that the other side broke in and the rest was dropped; ``text`` then ends with a dash.
    """

    side: Side
    start_ms: int
    end_ms: int
    text: str = ""
    cut: bool = False


class Overlap(Record):
    """A stretch in which both sides spoke; ``by`` is the side that started second."""

    start_ms: int
    end_ms: int
    by: Side


class Interruption(Record):
    """A side broke in and the other one stopped. ``yield_ms``: from the break-in to silence of the one cut."""

    side: Side
    by: Side
    start_ms: int
    yield_ms: int
    seq: int | None = None


class ResponseLatency(Record):
    """From the end of the user's speech to the start of the agent's answer, on the recording."""

    user_text: str
    agent_text: str
    user_end_ms: int
    agent_start_ms: int
    latency_ms: int


class LatencyStats(Record):
    """The statistics of the contract: p50 is ``sorted[n // 2]``, p95 is ``sorted[int(0.95 * n)]``."""

    count: int = 0
    mean_ms: float = 0.0
    p50_ms: float = 0.0
    p95_ms: float = 0.0
    min_ms: float = 0.0
    max_ms: float = 0.0


class Percentiles(Record):
    """Interpolated percentiles in milliseconds; None when there is nothing to measure."""

    p50_ms: float | None = None
    p90_ms: float | None = None
    p95_ms: float | None = None
    p99_ms: float | None = None


class LatencyReport(Record):
    """Response latencies of one attempt.

    ``early``: answers that began before the user had finished (no latency); ``unanswered``: user turns that
    the agent did not answer before the user's next turn or the end. ``measured`` is False without a recording.
    """

    measured: bool = False
    responses: tuple[ResponseLatency, ...] = ()
    early: int = 0
    unanswered: int = 0
    stats: LatencyStats = LatencyStats()
    percentiles: Percentiles = Percentiles()


class UnplacedText(Record):
    """Words that a bot reported as played where the recording has no speech of its side."""

    side: Side
    t_ms: int
    text: str


class ConversationFigures(Record):
    """What was said, by whom and when. Times are media milliseconds."""

    turns: tuple[Turn, ...] = ()
    overlaps: tuple[Overlap, ...] = ()
    interruptions: tuple[Interruption, ...] = ()
    unplaced: tuple[UnplacedText, ...] = ()
    latency: LatencyReport = LatencyReport()


class TokenUse(Record):
    """LLM calls and tokens of one side."""

    n_calls: int = 0
    prompt: int = 0
    completion: int = 0


class Breakdown(Record):
    """Signal names by what became of them.

    ``passed``, ``failed``, ``not_applicable`` and ``not_evaluable`` hold gating signals; ``excluded`` holds
    signals that were computed and do not gate.
    """

    passed: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    not_applicable: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    not_evaluable: tuple[str, ...] = ()


class ExpectedEnd(Record):
    """Where gold replay ends: contract hashes of both databases and the recorded writes."""

    agent_db_hash: str | None = None
    user_db_hash: str | None = None
    actions: tuple[RecordedAction, ...] = ()


class ScenarioResult(Record):
    """Everything that one attempt is reported by.

    ``scored_as`` is ``duologue`` or ``reference`` (see ``docs/scoring.md``). ``is_task_successful`` leaves
    out the clean exit; it is None when no other gating signal was evaluated. ``agent_turns`` counts the
    agent's stretches of speech or tool use. ``grader`` names the domain's grader when one decided; ``grade`` then
    holds its own fields. ``caller`` says whether the simulated caller did its part; a failed check of it makes the
    attempt not evaluable. ``reports`` are checks that decide nothing; left out when there are none. ``line`` is what
    happened to the sound; left out when it was clean.
    """

    schema_version: int = RESULT_SCHEMA
    run_id: str
    attempt: int
    seed: int
    scenario: str
    domain: str
    prefix: str
    family: str
    profile: str
    description: str = ""
    scored_as: str
    outcome: Outcome
    is_task_successful: bool | None = None
    stop_reason: StopReason | None = None
    verdicts: tuple[Verdict, ...] = ()
    breakdown: Breakdown = Breakdown()
    agent_turns: int = 0
    insufficient_agent_turns: bool = False
    media_ms: int = 0
    wall_ms: int = 0
    conversation: ConversationFigures = ConversationFigures()
    tokens: dict[Side, TokenUse] = Field(default_factory=dict)
    expected: ExpectedEnd = ExpectedEnd()
    evidence: dict[Side, EvidenceSource] = Field(default_factory=dict)
    provenance: dict[str, object] = Field(default_factory=dict)
    labels: dict[str, str] = Field(default_factory=dict)
    caller: tuple[Verdict, ...] = ()
    grader: str = ""
    grade: dict[str, Any] = Field(default_factory=dict)
    reports: tuple[Verdict, ...] = ()
    line: LineConditions = CLEAN

    @model_serializer(mode="wrap")
    def _without_unused(self, handler: SerializerFunctionWrapHandler) -> dict[str, object]:
        data: dict[str, Any] = handler(self)
        return {key: value for key, value in data.items() if key not in ("reports", "line") or value}

    @property
    def is_successful(self) -> bool | None:
        """True, False, or None when the attempt is not evaluable."""
        if self.outcome.kind is OutcomeKind.NOT_EVALUABLE:
            return None
        return self.outcome.kind is OutcomeKind.PASSED

    def verdict(self, signal: str) -> Verdict | None:
        """Return the verdict of one signal, or None when it was not computed."""
        return next((verdict for verdict in self.verdicts if verdict.signal == signal), None)
