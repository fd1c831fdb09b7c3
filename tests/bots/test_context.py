import copy
import json

import pytest

from duologue.bots.context import ScenarioState, context_text, parse_start
from duologue.config import BotConfig
from duologue.errors import DuologueError, RegistryError
from duologue.state.side_state import SideState

CONFIG = BotConfig.model_validate({"llm": {"type": "do_nothing", "system_prompt_suffix": "Be short."}})


def start(**data):
    return parse_start({"prompt": "p", "tool_domain": "heating", **data}, CONFIG)


def test_the_suffix_is_added_unless_it_is_declined():
    assert start().prompt == "p\nBe short."
    assert start(add_suffix=False).prompt == "p"


def test_tools_come_as_json_text_or_as_an_object():
    assert list(start(tools='{"find_account": {}}').tools) == list(start(tools={"find_account": {}}).tools)


def test_tools_of_the_default_domain_are_found_from_every_domain():
    assert list(start(tools={"EndConversationTool": {}}).tools) == ["EndConversationTool"]


def test_an_unknown_domain_falls_back_to_the_default_one(caplog):
    assert start(tool_domain="nowhere", tools={"EndConversationTool": {}}).domain == "default"
    assert "nowhere" in caplog.text


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ({"tools": "{"}, "tools is not JSON"),
        ({"tools": "[]"}, "tools must be an object"),
        ({"tools": {"find_account": {"limit": 1}}}, "find_account takes no settings"),
        ({"tools": {"find_account": {}, "set_target": {}}}, "both sides"),
        ({"scenario": "3"}, "scenario must be an object"),
    ],
)
def test_a_malformed_start_is_refused(data, error):
    with pytest.raises(DuologueError, match=error):
        start(**data)


def test_a_tool_of_nobody_is_refused():
    with pytest.raises(RegistryError, match="no tool 'fly'"):
        start(tools={"fly": {}})


def test_beginning_clears_the_state_in_place():
    state = ScenarioState()
    held = state.host.state
    held.db, held.memory = {"old": 1}, {"old": 1}
    start(tools={"set_target": {}}, scenario={"epoch": "e2", "profile": "guide"}).begin(state)
    assert state.host.state is held
    assert held == SideState("heating", profile="guide")
    assert (state.host.ledger.epoch, state.host.side) == ("e2", "user")


def test_media_is_replaced_and_the_context_left_alone():
    messages = [
        {"role": "user", "content": [
            {"type": "input_audio", "input_audio": {"data": "UklGR", "format": "wav", "transcript": "hello"}},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,xyz"}},
            {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
            {"type": "file", "file": {"file_data": "abc", "filename": "a.pdf"}},
            {"type": "text", "text": "look"},
        ]},
        {"role": "tool", "content": b"\x00", "data": "kept"},
    ]  # fmt: skip
    before = copy.deepcopy(messages)
    parts = json.loads(context_text(messages))[0]["content"]
    assert parts[0]["input_audio"] == {"data": "<audio>", "format": "wav", "transcript": "hello"}
    assert [part["image_url"]["url"] for part in parts[1:3]] == ["<image>", "https://example.org/a.png"]
    assert parts[3]["file"] == {"file_data": "<file>", "filename": "a.pdf"}
    assert json.loads(context_text(messages))[1] == {"role": "tool", "content": "<binary>", "data": "kept"}
    assert messages == before
