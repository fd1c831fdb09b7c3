import pytest

from duologue.records.action import Side
from duologue.records.event import (
    BotReady,
    ContextPulled,
    ExitRequested,
    HeardText,
    ProtocolNote,
    ToolCalled,
    ToolReturned,
)
from duologue.records.outcome import Cause, OutcomeKind, StopReason, Verdict
from duologue.records.result import ScenarioResult
from duologue.records.scenario import CatalogueOptions, Scenario
from duologue.registry import load_domain
from duologue.reports.summary import render_text
from duologue.scoring.aggregate import aggregate_results
from duologue.scoring.checking import run_checks
from duologue.scoring.evidence import collect_evidence
from duologue.scoring.score import score_trace
from duologue.testing.builders import TraceBuilder
from duologue.text.brains import brain_payload
from duologue.toolkit.evidence import ScoringMode
from duologue.toolkit.rules import CATALOGUES, RULES_NAME
from duologue.trace.reader import Trace
from tests.scoring.shop import shop_scenario
from tests.text.stage import between, run_text_call

AGENT, USER = Side.AGENT, Side.USER
GREETING = "Hello, thank you for calling. How can I help you today?"
ASK_NUMBER = "Please tell me your phone number."


@pytest.fixture(scope="module")
def scenarios() -> list[Scenario]:
    load_domain("tau2_telecom")
    catalogue = CATALOGUES.get("tau2_telecom", RULES_NAME)
    return list(catalogue.load(CatalogueOptions(profile=catalogue.profiles[0])))


@pytest.fixture(scope="module")
def abroad(scenarios: list[Scenario]) -> Scenario:
    return next(item for item in scenarios if item.user.facts["location"] == "France")


@pytest.fixture(scope="module")
def at_home(scenarios: list[Scenario]) -> Scenario:
    return next(item for item in scenarios if item.user.facts["location"] == "United States")


def check_caller(trace: Trace) -> tuple[Verdict, ...]:
    return run_checks(collect_evidence(trace, ScoringMode.DUOLOGUE), None).caller


class Dialogue:
    """A call told line by line: two sides take turns, a line a second."""

    def __init__(self, scenario: Scenario) -> None:
        self.builder = TraceBuilder(scenario)
        self.t_ms = 0

    def say(self, side: Side, text: str) -> "Dialogue":
        self.builder.say(side, text, self.t_ms, self.t_ms + 900)
        self.t_ms += 1000
        return self

    def use(self, name: str, **arguments: object) -> "Dialogue":
        self.builder.call_tool(USER, name, **arguments)
        return self

    def hang_up(self) -> "Dialogue":
        self.builder.add(ExitRequested(side=USER, text="Bye."), t_ms=self.t_ms)
        return self

    def failed(self) -> list[str]:
        return [item.signal for item in check_caller(self.builder.build()) if item.passed is False]


def talk(scenario: Scenario, *lines: str) -> Dialogue:
    dialogue = Dialogue(scenario).say(AGENT, GREETING)
    for number, line in enumerate(lines):
        dialogue.say(AGENT if number % 2 else USER, line)
    return dialogue


WRONG = [
    "My phone number is five five five, one two three, two zero zero three.",
    "It is 555-123-9999.",
    "Sure, five fifty-five, one twenty-three, two double zero five.",
    "Five, five, five. One, two, four. Two, zero, zero, two.",
    "My name is Peter Jones.",
    "This is Maria Lopez speaking.",
    "I am in Germany right now.",
    "I'm currently traveling in Italy.",
    "I am at home in the United States.",
]
RIGHT = [
    "My phone number is five five five, one two three, two zero zero two.",
    "It's 555-123-2002. Again: 5, 5, 5, 1, 2, 3, 2, 0, 0, 2.",
    "One five five five one two three two zero zero two.",
    "It is 123 2002.",
    "It ends in two zero zero three, no, two zero zero two.",
    "555-123-2003, sorry, I mean 555-123-2002.",
    "My name is John.",
    "My name's Smith, John Smith.",
    "My name is J O H N.",
    "My name is on the bill.",
    "This is so annoying, and I want it fixed.",
    "I am abroad, in France.",
    "I'm not in Germany, I am in France.",
    "I am not at home.",
    "When I am in Germany it works.",
    "I am going to be in Spain next week.",
    "It showed 275.34 megabits on 2025-02-25.",
    "I am in airplane mode.",
]


@pytest.mark.parametrize("line", WRONG)
def test_statement_against_the_brief_is_found(abroad: Scenario, line: str) -> None:
    assert talk(abroad, line).failed() == ["caller_facts"]


@pytest.mark.parametrize("line", RIGHT)
def test_statement_that_fits_the_brief_is_no_alarm(abroad: Scenario, line: str) -> None:
    assert talk(abroad, line).failed() == []


def test_place_is_checked_both_ways(at_home: Scenario) -> None:
    assert talk(at_home, "I am traveling in France.").failed() == ["caller_facts"]
    assert talk(at_home, "I'm abroad.").failed() == ["caller_facts"]
    assert talk(at_home, "I am at home in America.").failed() == []


def test_number_that_the_agent_or_a_tool_said_first_may_be_said_back(abroad: Scenario) -> None:
    assert talk(abroad, "Help.", "Is it 555 123 9999?", "No, 555 123 9999 is not mine.").failed() == []
    assert talk(abroad, "No, 555 123 9999 is not mine.", "Was it 555 123 9999?").failed() == ["caller_facts"]


def test_dictation_is_put_together_across_events(abroad: Scenario) -> None:
    dialogue = talk(abroad, "It is five five five.")
    dialogue.say(USER, "One two three.").say(USER, "Two zero zero nine.")
    assert dialogue.failed() == ["caller_facts"]


def test_facts_of_other_domains_are_known_by_their_keys() -> None:
    facts = {"zip_code": "12345", "name": "Ann Lee", "country": "Spain", "account_number": "87654321"}
    user = shop_scenario().user.model_copy(update={"facts": facts})
    scenario = shop_scenario(user=user)
    assert talk(scenario, "My zip code is 1 2 3 4 6.").failed() == ["caller_facts"]
    assert talk(scenario, "My account number is 8765 4322.").failed() == ["caller_facts"]
    assert talk(scenario, "I am Ann, my zip code is 1 2 3 4 5, and I am in Spain. 8765 4321.").failed() == []


def test_tool_without_a_request_is_found(abroad: Scenario) -> None:
    assert talk(abroad, "Help.").use("reboot_device").failed() == ["caller_tools"]
    assert talk(abroad, "Help.", ASK_NUMBER).use("run_speed_test").failed() == ["caller_tools"]
    assert talk(abroad, "Help.", "Please turn off data saver.").use("toggle_airplane_mode").failed() == ["caller_tools"]


@pytest.mark.parametrize(
    ("request_", "tool"),
    [
        ("Could you restart your phone for me?", "reboot_device"),
        ("Please flip airplane mode.", "toggle_airplane_mode"),
        ("Turn the air plane mode off.", "toggle_airplane_mode"),
        ("Please switch your Wi-Fi on.", "toggle_wifi"),
        ("Can you take the SIM out and put it back in?", "reseat_sim_card"),
        ("Turn off your V.P.N., please.", "disconnect_vpn"),
        ("What do you see at the top of your screen?", "check_network_status"),
        ("How fast is your internet?", "run_speed_test"),
    ],
)
def test_tool_that_was_asked_for_in_other_words_is_no_alarm(abroad: Scenario, request_: str, tool: str) -> None:
    assert talk(abroad, "Help.", request_).use(tool).failed() == []


def test_what_the_caller_heard_counts_as_a_request(abroad: Scenario) -> None:
    dialogue = talk(abroad, "Help.", "Please see boot it.")
    dialogue.builder.add(HeardText(side=USER, text="Please reboot it."))
    assert dialogue.use("reboot_device").failed() == []


def test_write_that_is_repeated_needs_another_request(abroad: Scenario) -> None:
    asked = talk(abroad, "Help.", "Please toggle airplane mode.").use("toggle_airplane_mode").say(USER, "It is on.")
    assert asked.say(AGENT, "I see.").use("toggle_airplane_mode").failed() == ["caller_tools"]
    asked = talk(abroad, "Help.", "Please toggle airplane mode.").use("toggle_airplane_mode").say(USER, "It is on.")
    assert asked.say(AGENT, "Do that again.").use("toggle_airplane_mode").failed() == []


def test_request_that_was_cut_short_counts_by_any_word_of_the_tool(abroad: Scenario) -> None:
    assert talk(abroad, "Help.", "Please tell me your phone").use("reboot_device").failed() == []
    assert talk(abroad, "Help.", ASK_NUMBER).use("reboot_device").failed() == ["caller_tools"]
    assert talk(abroad, "Help.", "Please").use("reboot_device").failed() == ["caller_tools"]
    later = talk(abroad, "Help.", "Please tell me your phone", "Sorry?", "Which country are you in?")
    assert later.use("reboot_device").failed() == ["caller_tools"]


@pytest.mark.parametrize("cancelled", [None, True, False])
def test_write_whose_result_was_lost_may_be_repeated(abroad: Scenario, cancelled: bool | None) -> None:
    dialogue = talk(abroad, "Help.", "Please toggle airplane mode.")
    name = "toggle_airplane_mode"
    dialogue.builder.add(ToolCalled(side=USER, call_id="first", name=name, arguments={}))
    if cancelled is not None:
        dialogue.builder.add(ToolReturned(side=USER, call_id="first", name=name, cancelled=cancelled))
    assert dialogue.use(name).failed() == (["caller_tools"] if cancelled is False else [])


def test_write_is_asked_for_as_often_as_was_said_before_it(abroad: Scenario) -> None:
    name = "toggle_airplane_mode"
    for twice in ("Toggle airplane mode. Then toggle airplane mode.", "Turn airplane mode on and off."):
        dialogue = talk(abroad, "Help.", twice).use(name).use(name)
        assert dialogue.failed() == []
        assert dialogue.use(name).failed() == ["caller_tools"]


def test_request_whose_last_words_come_after_the_call_counts_once(abroad: Scenario) -> None:
    dialogue = talk(abroad, "Help.", "Please toggle airplane mode").use("toggle_airplane_mode")
    assert dialogue.say(AGENT, "for me now.").use("toggle_airplane_mode").failed() == ["caller_tools"]
    dialogue = talk(abroad, "Help.", "Please toggle airplane mode").use("toggle_airplane_mode")
    assert dialogue.say(AGENT, "and do so again.").use("toggle_airplane_mode").failed() == []


@pytest.mark.parametrize(
    ("asked", "tool"),
    [("Toggle your why fi, please.", "toggle_wifi"), ("Toggle air plane mode, please.", "toggle_airplane_mode")],
)
def test_words_of_the_domain_are_known_when_they_are_written_apart(abroad: Scenario, asked: str, tool: str) -> None:
    assert talk(abroad, "Help.", asked).use(tool).failed() == []
    assert talk(abroad, "Help.", asked).use("reset_apn_settings").failed() == ["caller_tools"]


def test_several_requests_in_one_breath_are_all_asked_for(abroad: Scenario) -> None:
    dialogue = talk(abroad, "Help.", "Toggle airplane mode, then restart the phone, then run a speed test.")
    assert dialogue.use("toggle_airplane_mode").use("reboot_device").use("run_speed_test").failed() == []


@pytest.mark.parametrize(
    ("line", "check"),
    [
        ("Thank you for calling. How can I help you?", "caller_role"),
        ("Is there anything else I can help you with?", "caller_role"),
        ("May I have your phone number?", "caller_role"),
        ("I will transfer you to a colleague.", "caller_role"),
        ("I have resumed your line.", "caller_role"),
        ("I have enabled roaming on your line.", "caller_role"),
        ("As an AI language model I have no phone.", "caller_part"),
        ("My instructions say that I should be upset.", "caller_part"),
        ("I will call check_status_bar now.", "caller_part"),
        ('{"name": "toggle_data"}', "caller_part"),
    ],
)
def test_role_swap_and_leaving_the_part_are_found(abroad: Scenario, line: str, check: str) -> None:
    assert talk(abroad, line).failed() == [check]


@pytest.mark.parametrize(
    "line", ["Thank you. Goodbye.", "Can you help me?", "Will you transfer me?", "I followed your instructions."]
)
def test_what_callers_say_is_no_role_swap(abroad: Scenario, line: str) -> None:
    assert talk(abroad, line).failed() == []


def test_hanging_up_in_the_middle_is_found(abroad: Scenario) -> None:
    assert talk(abroad, "My phone is dead.", ASK_NUMBER).hang_up().failed() == ["caller_hang_up"]


@pytest.mark.parametrize(
    "lines",
    [
        ("Help.", "Your problem is solved. Goodbye."),
        ("Help.", "I will transfer you."),
        ("Help.", ASK_NUMBER, "I have to go, I will call again later."),
    ],
)
def test_hanging_up_with_a_reason_is_no_alarm(abroad: Scenario, lines: tuple[str, ...]) -> None:
    assert talk(abroad, *lines).hang_up().failed() == []


def test_hanging_up_on_a_silent_agent_is_no_alarm(abroad: Scenario) -> None:
    dialogue = talk(abroad, "Hello? Anybody there?")
    dialogue.t_ms += 30_000
    assert dialogue.hang_up().failed() == []


def gone(scenario: Scenario, *lines: str, heard: bool = True, stop: StopReason = StopReason.TIMEOUT) -> ScenarioResult:
    """Score a call in which the caller does nothing after these lines, which the agent ends."""
    dialogue = talk(scenario, *lines)
    if heard:
        dialogue.builder.add(HeardText(side=USER, text="something"), t_ms=dialogue.t_ms)
    dialogue.builder.add(ProtocolNote(side=USER, note="nothing"), t_ms=dialogue.t_ms + 90_000)
    return score_trace(dialogue.builder.end(stop).build(), None)


@pytest.mark.parametrize("lines", [(), ("Help.", ASK_NUMBER + " Will you?"), ("Help.", "Hello? Are you there?")])
def test_time_that_runs_out_on_a_caller_who_is_gone_is_not_the_agents_failure(
    abroad: Scenario, lines: tuple[str, ...]
) -> None:
    result = gone(abroad, *lines)
    assert (result.outcome.cause, result.outcome.detail[:15]) == (Cause.USER_SIM, "caller_presence")


def test_asking_again_does_not_bring_a_caller_back(abroad: Scenario) -> None:
    dialogue = talk(abroad, "Help.", "Which number?")
    dialogue.builder.add(HeardText(side=USER, text="Which number?"), t_ms=dialogue.t_ms)
    for _ in range(8):
        dialogue.t_ms += 10_000
        dialogue.say(AGENT, "Are you there?")
    dialogue.builder.end(StopReason.TIMEOUT)
    assert dialogue.failed() == ["caller_presence"]


@pytest.mark.parametrize("lines", [("Help.", "One moment, please."), ("Help.", "Which one?", "This one."), ("Help.",)])
def test_agent_that_keeps_a_caller_waiting_fails(abroad: Scenario, lines: tuple[str, ...]) -> None:
    assert gone(abroad, *lines).outcome.kind is OutcomeKind.FAILED


def test_silent_caller_is_no_excuse_for_an_agent_unheard_or_gone(abroad: Scenario) -> None:
    assert gone(abroad, "Help.", "Which one?", heard=False).outcome.kind is OutcomeKind.FAILED
    assert gone(abroad, heard=False).outcome.kind is OutcomeKind.FAILED
    assert gone(abroad, stop=StopReason.EXIT).outcome.cause is not Cause.USER_SIM


def test_verdicts_say_what_was_said_expected_and_where(abroad: Scenario) -> None:
    verdict = check_caller(talk(abroad, "My name is Peter Jones.").builder.build())[0]
    assert verdict.evidence["found"][0]["said"] == "Peter Jones"
    assert verdict.evidence["found"][0]["expected"] == "name: John Smith"
    assert len(verdict.evidence["found"][0]["trace"]) == 5


def test_nobody_simulated_means_no_checks(abroad: Scenario) -> None:
    dialogue = talk(abroad, WRONG[0])
    dialogue.builder.add(BotReady(side=USER, about={"capabilities": {"brain": "human"}}))
    assert check_caller(dialogue.builder.build()) == ()
    assert check_caller(TraceBuilder(abroad).say(AGENT, "Hello?", 0, 900).build()) == ()


class Liar:
    """A caller's brain that changes the last digit of its number."""

    def __init__(self, honest: object) -> None:
        self.honest = honest

    def decide(self, messages: list[dict], tools: list[str]) -> object:
        reply = self.honest.decide(messages, tools)  # type: ignore[attr-defined]
        ends = {"two zero zero two": "two zero zero seven", "Two, zero, zero, two": "Two, zero, zero, seven"}
        text = reply.text
        for told, lie in ends.items():
            text = text.replace(told, lie)
        return type(reply)(text, reply.calls)


def play(scenario: Scenario, *, lies: bool) -> ScenarioResult:
    from duologue.brains.brain import build_brain

    agent = build_brain("reference", brain_payload(scenario, AGENT), {})
    user = build_brain("scripted_user", brain_payload(scenario, USER), {})
    trace = between(scenario, agent, Liar(user) if lies else user, seed=scenario.name)  # type: ignore[arg-type]
    return score_trace(trace, None)


@pytest.mark.slow
def test_wrong_number_in_three_of_ten_calls_is_exactly_three_user_sim(scenarios: list[Scenario]) -> None:
    identified = [item for item in scenarios if any(step.side is AGENT for step in item.reference_actions)][:10]
    results = [play(scenario, lies=number in (1, 4, 8)) for number, scenario in enumerate(identified)]
    causes = [result.outcome.cause for result in results]
    assert [number for number, cause in enumerate(causes) if cause is Cause.USER_SIM] == [1, 4, 8]
    assert [result.outcome.kind for result in results].count(OutcomeKind.PASSED) == 7
    overall = aggregate_results(results).overall
    assert (overall.causes, overall.caller.passed, overall.caller.total) == ({"user_sim": 3}, 7, 10)
    assert (overall.caller_checks["caller_facts"].passed, overall.success.total) == (7, 7)
    text = render_text(results, aggregate_results(results))
    assert "faithful caller     7/10 = 70.0%" in text and "cause user_sim  3" in text


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["reference", "do_nothing"])
def test_scripted_caller_never_raises_an_alarm(scenarios: list[Scenario], agent: str) -> None:
    alarms = [
        (scenario.name, verdict.reason)
        for scenario in scenarios[::6]
        for verdict in check_caller(run_text_call(scenario, agent))
        if verdict.passed is False
    ]
    assert alarms == []


def test_reference_rules_report_the_caller_and_score_anyway(abroad: Scenario) -> None:
    dialogue = talk(abroad, WRONG[0])
    dialogue.builder.hang_up()
    exact, old = (score_trace(dialogue.builder.build(), None, compat=mode) for mode in ((), ("reference",)))
    assert (exact.outcome.cause, old.outcome.cause) == (Cause.USER_SIM, None)
    assert old.caller == exact.caller


def test_system_prompt_of_the_context_is_part_of_the_brief(abroad: Scenario) -> None:
    dialogue = talk(abroad, "My order is 87654321.")
    assert dialogue.failed() == ["caller_facts"]
    message = {"role": "system", "content": "Your order has the number 8765-4321."}
    dialogue.builder.add(ContextPulled(side=USER, messages=(message,)))
    assert dialogue.failed() == []
