import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from duologue.brains.reply import BrainCall, BrainReply
from duologue.errors import ScenarioError
from duologue.records.action import Side
from duologue.records.conditions import LineConditions
from duologue.records.event import (
    ActionApplied,
    CallEnded,
    ExitRequested,
    FinalState,
    HeardText,
    InitialState,
    SpokenText,
)
from duologue.records.outcome import OutcomeKind, StopReason
from duologue.records.scenario import CatalogueOptions, Scenario
from duologue.registry import load_domain
from duologue.runner.mutation import MUTATION_KINDS
from duologue.scoring.score import score_trace
from duologue.state.side_state import SideState
from duologue.text.noise import MILD, Noise
from duologue.toolkit.dual_state import DualState, replay_reference
from duologue.toolkit.rules import CATALOGUES, RULES_NAME
from duologue.toolkit.tool import END_CALL_TOOL
from tests.present import present
from tests.text.stage import between, run_text_call

PROFILES = ("guide", "tau2")
HASTY = Noise(cut=0.1)


def scenarios(profile: str) -> Sequence[Scenario]:
    load_domain("tau2_telecom")
    return CATALOGUES.get("tau2_telecom", RULES_NAME).load(CatalogueOptions(profile=profile))


def outcome(scenario: Scenario, agent: str, options: dict[str, Any]) -> tuple[str, OutcomeKind]:
    return scenario.name, score_trace(run_text_call(scenario, agent, **options), None).outcome.kind


Outcomes = Callable[..., list[tuple[str, OutcomeKind]]]


@pytest.fixture(scope="module")
def outcomes() -> Iterator[Outcomes]:
    """Hold all calls of a profile, on every core: a call in text computes and never waits."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(mp_context=spawn, initializer=load_domain, initargs=("tau2_telecom",)) as pool:

        def hold(profile: str, agent: str, **options: Any) -> list[tuple[str, OutcomeKind]]:
            return list(pool.map(partial(outcome, agent=agent, options=options), scenarios(profile), chunksize=8))

        yield hold


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
def test_the_reference_agent_passes_every_scenario(outcomes: Outcomes, profile: str) -> None:
    results = outcomes(profile, "reference")
    assert len(results) == 228
    assert [name for name, kind in results if kind is not OutcomeKind.PASSED] == []


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
def test_doing_nothing_fails_every_scenario(outcomes: Outcomes, profile: str) -> None:
    assert {kind for _, kind in outcomes(profile, "do_nothing")} == {OutcomeKind.FAILED}


@pytest.mark.slow
@pytest.mark.parametrize("mutation", MUTATION_KINDS)
@pytest.mark.parametrize("profile", PROFILES)
def test_a_wrong_action_fails_every_scenario(outcomes: Outcomes, profile: str, mutation: str) -> None:
    results = outcomes(profile, "wrong_action", mutation=mutation)
    assert [name for name, kind in results if kind is not OutcomeKind.FAILED] == []


@pytest.mark.slow
@pytest.mark.parametrize("noise", [MILD, HASTY], ids=["misheard", "interrupted"])
def test_the_reference_agent_passes_over_a_bad_line(outcomes: Outcomes, noise: Noise) -> None:
    results = outcomes("guide", "reference", noise=noise)
    assert [name for name, kind in results if kind is not OutcomeKind.PASSED] == []


@pytest.fixture(scope="module")
def longest() -> Scenario:
    return max(scenarios("guide"), key=lambda scenario: len(scenario.reference_actions))


def test_a_call_ends_where_gold_replay_ends(longest: Scenario) -> None:
    trace = run_text_call(longest, "reference")
    gold = replay_reference(longest).state.digests()
    final = present(trace.last(FinalState))
    assert (final.agent_digest, final.user_digest) == (gold[Side.AGENT], gold[Side.USER])


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
def test_recorded_writes_on_the_initial_databases_give_the_final_ones(profile: str) -> None:
    for scenario in scenarios(profile)[::9]:
        trace = run_text_call(scenario, "wrong_action", mutation="add", noise=HASTY)
        initial, final = present(trace.last(InitialState)), present(trace.last(FinalState))
        agent, user = (
            SideState(scenario.domain, db, memory, profile)
            for db, memory in ((initial.agent_db, initial.agent_memory), (initial.user_db, initial.user_memory))
        )
        dual = DualState(scenario.domain, agent, user)
        for event in trace.of(ActionApplied):
            assert dual.invoke(event.side, event.action.name, event.action.arguments).is_recorded
            dual.sync()
        assert (agent.digest(), user.digest()) == (final.agent_digest, final.user_digest), scenario.name


def test_each_side_writes_only_what_the_reference_asks(longest: Scenario) -> None:
    written = [event.action.name for event in run_text_call(longest, "reference").of(ActionApplied)]
    assert written[:-1] == [step.name for step in longest.reference_actions]
    assert written[-1] == "EndConversationTool"


def test_equal_seeds_give_equal_calls(longest: Scenario) -> None:
    first, again, other = (run_text_call(longest, "reference", noise=MILD, seed=seed) for seed in (1, 1, 2))
    assert first.events == again.events
    assert [event.text for event in first.of(HeardText)] != [event.text for event in other.of(HeardText)]


class Hangs:
    """Hangs up in a way that is refused, then says something, and so on."""

    def decide(self, messages: list[dict], tools: list[str]) -> BrainReply:
        if messages[-1]["role"] == "tool":
            return BrainReply("I am still here.")
        return BrainReply("", (BrainCall(END_CALL_TOOL, {"reason": "bored"}),))


def test_a_refused_attempt_to_hang_up_does_not_end_the_call(longest: Scenario) -> None:
    trace = between(longest, Hangs(), Hangs())
    assert present(trace.last(CallEnded)).stop_reason is StopReason.TIMEOUT
    assert trace.of(ExitRequested) == []
    assert "I am still here." in [event.text for event in trace.of(SpokenText)]


def test_the_agent_ends_the_call_and_each_side_parts_once(longest: Scenario) -> None:
    trace = run_text_call(longest, "reference")
    assert present(trace.last(CallEnded)).stop_reason is StopReason.EXIT
    assert [event.side for event in trace.of(ExitRequested)] == [Side.AGENT]
    partings = [event.side for event in trace.of(SpokenText) if "Goodbye" in event.text]
    assert partings == [Side.USER, Side.AGENT]


@pytest.mark.slow
def test_a_call_is_the_same_under_any_hash_seed_time_zone_and_locale() -> None:
    code = (
        "import sys; from tests.text.test_call import scenarios, MILD, run_text_call, score_trace\n"
        "from duologue.trace.writer import canonical_line\n"
        "for scenario in (scenarios('guide')[0], scenarios('tau2')[150]):\n"
        "    trace = run_text_call(scenario, 'wrong_action', mutation='add', noise=MILD)\n"
        "    for record in (trace.header, *trace.events, score_trace(trace, None)): print(canonical_line(record))\n"
    )
    settings = (("0", "UTC", "C.UTF-8"), ("4242", "America/St_Johns", "de_DE.UTF-8"))
    traces = [
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=Path(__file__).parents[2],
            env={**os.environ, "PYTHONHASHSEED": seed, "TZ": zone, "LC_ALL": locale},
            capture_output=True,
            check=True,
        ).stdout
        for seed, zone, locale in settings
    ]
    assert traces[0] == traces[1]
    assert len(traces[0].splitlines()) > 50


def test_line_that_changes_sound_is_refused() -> None:
    line = LineConditions.model_validate({"name": "street", "both": {"delay_ms": 100}})
    scenario = scenarios("guide")[0].model_copy(update={"line": line})
    with pytest.raises(ScenarioError, match="the line 'street' changes sound, and a call in text has none; play"):
        run_text_call(scenario, "reference")
