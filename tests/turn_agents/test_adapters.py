"""The three adapters over HTTP, each against its double on a real socket."""

import json
from contextlib import AsyncExitStack

import pytest

from duologue.clock import SystemClock
from duologue.errors import ConfigError, TurnAgentError, TurnAgentUnavailable
from duologue.records.event import Event
from duologue.testing.agent_doubles import AgentAnswer, AgentDouble
from duologue.turn_agents.build import ADAPTERS, build_turn_agent, opened_turn_agent
from duologue.turn_agents.calls import TurnCall, extract_calls
from duologue.turn_agents.loop import TurnLoop
from duologue.turn_agents.turn import MessageTurn, TaskInfo, agent_for

pytestmark = pytest.mark.socket

TASK = TaskInfo("a_domain", "task-7", "session-1")
MANIFEST = [{"type": "function", "function": {"name": "alarm.set", "parameters": {"type": "object"}}}]
TOKENS = {"eliza": "ELIZA_BENCH_TOKEN", "hermes": "HERMES_API_KEY", "openclaw": "OPENCLAW_GATEWAY_TOKEN"}


class Connected:
    """An adapter at a double, for one task."""

    def __init__(self, adapter, script, **env):
        self.adapter, self.double, self.env = adapter, AgentDouble(script), env
        self.stack = AsyncExitStack()

    async def __aenter__(self):
        await self.stack.enter_async_context(self.double)
        opened = opened_turn_agent(self.adapter, url=self.double.url, env=self.env, clock=SystemClock())
        self.agent = await self.stack.enter_async_context(opened)
        self.events: list[Event] = []
        self.loop = TurnLoop(agent_for(self.agent, TASK), MANIFEST, SystemClock(), self.events.append)
        return self

    async def __aexit__(self, *error):
        await self.stack.aclose()


def alarm_once(asked):
    name = asked.tools[0]
    if asked.is_after_tools:
        return AgentAnswer("It is set.")
    return AgentAnswer("One moment.", ((name, {"time": "06:45"}), (name, {"time": "07:00"})))


@pytest.mark.parametrize("adapter", ADAPTERS)
async def test_calls_and_reply_come_through_each_once_and_under_their_own_name(adapter):
    async with Connected(adapter, alarm_once) as connected:
        reply = await connected.loop.answer("Wake me.")
    calls = extract_calls(connected.loop.history[1].tool_calls)
    assert [(call.name, call.arguments) for call in calls] == [
        ("alarm.set", {"time": "06:45"}),
        ("alarm.set", {"time": "07:00"}),
    ]
    assert (reply.text, reply.tool_turns) == ("It is set.", 1)


@pytest.mark.parametrize("adapter", ADAPTERS)
async def test_the_whole_history_and_the_task_arrive_at_every_request(adapter):
    async with Connected(adapter, alarm_once) as connected:
        await connected.loop.answer("Wake me.")
        await connected.loop.answer("And again.")
    last = connected.double.asked[-1]
    assert (last.task_id, last.session_id) == ("task-7", "session-1")
    roles = [message["role"] for message in last.messages]
    assert roles == ["user", "assistant", "tool", "tool", "assistant", "user", "assistant", "tool", "tool"]
    assert [message["content"] for message in last.messages if message["role"] == "user"] == ["Wake me.", "And again."]


@pytest.mark.parametrize("adapter", ADAPTERS)
async def test_every_result_names_the_call_it_answers(adapter):
    async with Connected(adapter, alarm_once) as connected:
        await connected.loop.answer("Wake me.")
    messages = connected.double.asked[-1].messages
    called = [call["id"] for call in messages[1]["tool_calls"]]
    assert called == [message["tool_call_id"] for message in messages[2:4]] and len(set(called)) == 2


@pytest.mark.parametrize("adapter", ADAPTERS)
async def test_tool_use_is_never_forced(adapter):
    async with Connected(adapter, lambda asked: AgentAnswer("I cannot do that.")) as connected:
        assert (await connected.loop.answer("Break in.")).text == "I cannot do that."
    assert "tool_choice" not in json.dumps(connected.double.asked[0].body)


@pytest.mark.parametrize("adapter", ADAPTERS)
async def test_the_token_is_sent_as_bearer_and_never_shown(adapter):
    async with Connected(adapter, lambda asked: AgentAnswer("Hi."), **{TOKENS[adapter]: "s3cret"}) as connected:
        await connected.loop.answer("Hi.")
    assert connected.double.asked[0].authorization == "Bearer s3cret"
    assert "s3cret" not in repr(connected.agent.endpoint.settings)


@pytest.mark.parametrize("adapter", ADAPTERS)
@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (AgentAnswer(status=503, raw="overloaded"), "HTTP 503: overloaded"),
        (AgentAnswer(status=302, raw="moved"), "HTTP 302: moved"),
        (AgentAnswer(raw="<html>"), "the answer is not JSON"),
        (AgentAnswer(raw="[]"), "JSON but not an object"),
        (AgentAnswer(raw="{}"), r"has none of|has no choices|no output"),
    ],
)
async def test_an_answer_that_is_no_turn_is_an_error_that_says_what_came(adapter, answer, message):
    async with Connected(adapter, lambda asked: answer) as connected:
        with pytest.raises(TurnAgentError, match=message):
            await connected.loop.answer("Hi.")


@pytest.mark.parametrize("adapter", ADAPTERS)
async def test_an_agent_that_is_not_there_cannot_be_built(adapter):
    env = {f"{adapter.upper()}_WAIT_TIMEOUT": "0.2"}
    with pytest.raises(TurnAgentUnavailable, match=r"nothing accepts connections at http://127\.0\.0\.1:9 "):
        await build_turn_agent(adapter, url="http://127.0.0.1:9", env=env, clock=SystemClock())


async def test_an_agent_that_goes_away_is_an_error_of_that_turn():
    async with Connected("hermes", lambda asked: AgentAnswer("Hi.")) as connected:
        await connected.double.__aexit__(None, None, None)
        with pytest.raises(TurnAgentError, match="no answer"):
            await connected.loop.answer("Hi.")


async def test_an_agent_that_starts_late_is_waited_for():
    double = AgentDouble(lambda asked: AgentAnswer("Hi."))

    class StartsTheDouble(SystemClock):
        async def sleep(self, seconds):
            await double.__aenter__()

    async with AgentDouble() as placeholder:
        double.port = placeholder.port
    url = f"http://127.0.0.1:{double.port}"
    async with opened_turn_agent("eliza", url=url, env={}, clock=StartsTheDouble()) as agent:
        assert (await agent([MessageTurn("user", "Hi.")], [])).content == "Hi."
    await double.__aexit__(None, None, None)


async def test_captured_actions_are_read_in_all_their_spellings():
    actions = [
        {"toolName": "a", "arguments": {"x": 1}},
        {"tool_name": "b", "params": {"x": 2}},
        {"params": {"tool_name": "c", "x": 3}},
        {"command": "d", "arguments": '{"x": 4}'},
        "no object",
    ]
    raw = json.dumps({"text": None, "captured_actions": actions})
    async with Connected("eliza", lambda asked: AgentAnswer(raw=raw)) as connected:
        turn = await connected.loop.agent([MessageTurn("user", "Hi.")], MANIFEST)
    assert extract_calls(turn.tool_calls) == [TurnCall(None, name, {"x": n}) for n, name in enumerate("abcd", 1)]


async def test_eliza_gets_the_latest_user_text_and_the_manifest_as_it_is():
    async with Connected("eliza", alarm_once) as connected:
        await connected.loop.answer("Wake me.")
    body = connected.double.asked[-1].body
    assert (body["text"], body["context"]["tools"]) == ("Wake me.", MANIFEST)
    assert body["context"]["benchmark"] == "a_domain"


@pytest.mark.parametrize(
    ("env", "message"),
    [
        ({"ELIZA_BENCH_HTTP_TIMEOUT": "soon"}, "ELIZA_BENCH_HTTP_TIMEOUT must be a number of seconds above 0"),
        ({"ELIZA_API_BASE": "localhost:31337"}, "'localhost:31337' is not a URL such as"),
    ],
)
async def test_malformed_settings_are_named(env, message):
    with pytest.raises(ConfigError, match=message):
        await build_turn_agent("eliza", env=env, clock=SystemClock())


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ("elisa", "known: eliza, hermes, openclaw, or module:Class"),
        ("no_such_module:Agent", "No module named 'no_such_module'; is its folder on PYTHONPATH"),
        ("json:Agent", "has no attribute 'Agent'"),
        ("json:loads", "cannot be built"),
    ],
)
async def test_a_class_that_cannot_be_had_is_named(choice, message):
    with pytest.raises(ConfigError, match=message):
        await build_turn_agent(choice, env={}, clock=SystemClock())


async def test_a_class_of_ones_own_gets_the_address_and_is_closed(tmp_path, monkeypatch):
    lines = ["class Agent:", "    def __init__(self, url=''): self.url, self.closed = url, False"]
    lines += ["    async def __call__(self, history, tool_manifest): ...", "    def close(self): self.closed = True"]
    (tmp_path / "closing_adapter.py").write_text("\n".join(lines))
    monkeypatch.syspath_prepend(tmp_path)
    async with opened_turn_agent("closing_adapter:Agent", url="http://a", env={}, clock=SystemClock()) as agent:
        assert vars(agent) == {"url": "http://a", "closed": False}
    assert vars(agent)["closed"]
