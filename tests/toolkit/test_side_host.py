"""A side by itself: what outlives a scenario, whose deltas and releases it takes, and what they leave behind."""

from typing import Any

import pytest

from duologue.errors import ToolError, ToolRefusal
from duologue.protocol.bodies import DeltaBody, ReleaseBody
from duologue.records.action import Delta, Side
from duologue.state.side_state import SideState
from duologue.toolkit.results import ToolResult
from duologue.toolkit.rules import RULES_NAME, SYNC_RULES, Deltas, SyncRules
from duologue.toolkit.side_host import SideHost, find_tools
from duologue.toolkit.tool import generic_tool, write_tool

DOMAIN = "held_shop"


@write_tool(DOMAIN, Side.AGENT, "Sell one.")
def sell_one(state: SideState) -> ToolResult:
    assert state.db is not None
    state.db["apples"] -= 1
    return ToolResult({"left": state.db["apples"]})


@generic_tool(DOMAIN, Side.AGENT, "Leave.", {"why": {}}, exit_text="Bye.")
def leave(state: SideState, why: str) -> ToolResult:
    if not why:
        raise ToolRefusal("say why")
    return ToolResult({"left": True})


def careless(state: SideState, delta: Delta) -> None:
    """Sets one path after the other, and finds out too late."""
    assert state.db is not None
    for path, value in delta.items():
        state.db[path] = value
        if value == "wrong":
            raise ToolError("that is wrong")
        if value == "worse":
            raise KeyError(path)


def changes_nothing(agent: SideState, user: SideState) -> Deltas:
    return Deltas()


SYNC_RULES.register(DOMAIN, RULES_NAME, SyncRules(changes_nothing, careless), owner=__name__)


def begun(epoch: str = "e1", host: SideHost | None = None) -> SideHost:
    host = host or SideHost()
    host.begin(DOMAIN, "You sell.", find_tools(DOMAIN, {"sell_one": {}, "leave": {}}), epoch, "default")
    host.state.db = {"apples": 3}
    return host


def sold(host: SideHost) -> Any:
    action = host.perform("sell_one", {}).action
    assert action is not None
    return action


@pytest.mark.parametrize("epoch", ["e0", None])
def test_a_release_of_another_epoch_lets_nothing_go(epoch: str | None) -> None:
    host = begun()
    host.hold(sold(host))
    assert host.release(ReleaseBody(epoch=epoch, seq=1)) is None and host.is_waiting
    assert host.release(ReleaseBody(epoch="e1", seq=2)) is None and host.is_waiting
    assert host.release(ReleaseBody(epoch="e1", seq=1)) == ("e1", 1)
    assert host.release(ReleaseBody(epoch="e1", seq=1)) is None and not host.is_waiting


def test_a_delta_of_another_epoch_changes_nothing() -> None:
    host = begun()
    report = host.apply_delta(DeltaBody(delta={"apples": 9}, epoch="e0"))
    assert (report.success, host.state.db) == (False, {"apples": 3})
    assert host.apply_delta(DeltaBody(delta={"apples": 9}, epoch="e1")).success and host.state.db == {"apples": 9}


@pytest.mark.parametrize(("value", "words"), [("wrong", "that is wrong"), ("worse", "KeyError")])
def test_a_delta_that_breaks_is_not_half_applied(value: str, words: str) -> None:
    host = begun()
    report = host.apply_delta(DeltaBody(delta={"apples": 9, "pears": value}, epoch="e1"))
    assert not report.success and words in report.errors[0]
    assert host.state.db == {"apples": 3} and report.digest == host.state.digest()


def test_writes_are_numbered_from_one_in_each_scenario() -> None:
    host = begun()
    assert [sold(host).seq, sold(host).seq] == [1, 2]
    host.hold(host.ledger.actions[-1])
    begun("e2", host)
    assert host.ledger.actions == [] and not host.is_waiting
    assert (sold(host).seq, host.ledger.actions[-1].epoch) == (1, "e2")


def test_a_database_does_not_outlive_its_scenario() -> None:
    host = begun()
    host.state.memory["seen"] = True
    host.begin(DOMAIN, "You sell.", host.tools, "e2", "default")
    assert (host.state.db, host.state.memory) == (None, {})


def test_a_refused_attempt_to_hang_up_does_not_end_the_call() -> None:
    host = begun()
    assert host.perform("leave", {"why": ""}).exit_text == ""
    assert host.perform("leave", {"why": "done"}).exit_text == "Bye."


def test_memory_is_part_of_the_digest() -> None:
    host = begun()
    before = host.state.digest()
    host.state.memory["seen"] = True
    assert host.state.digest() != before


@write_tool(DOMAIN, Side.AGENT, "Change something, and say that nothing changed.")
def mutter(state: SideState) -> ToolResult:
    assert state.db is not None
    state.db["apples"] = 0
    return ToolResult({"nothing": True}, changed=False)


@write_tool(DOMAIN, Side.AGENT, "Keep a list.", {"names": {"type": "array"}})
def keep(state: SideState, names: list[str]) -> ToolResult:
    assert state.db is not None
    state.db["names"] = names
    return ToolResult({"kept": len(names)})


def test_a_change_is_recorded_whatever_the_tool_says_of_it() -> None:
    host = begun()
    host.tools.update(find_tools(DOMAIN, {"mutter": {}}))
    assert host.perform("mutter", {}).action is not None


def test_a_database_shares_nothing_with_the_arguments_of_a_call() -> None:
    host = begun()
    host.tools.update(find_tools(DOMAIN, {"keep": {}}))
    names = ["Ann"]
    action = host.perform("keep", {"names": names}).action
    names.append("Bob")
    assert host.state.db is not None and host.state.db["names"] == ["Ann"]
    host.state.db["names"].append("Cid")
    assert action is not None and "Cid" not in action.arguments["names"]


def test_a_tool_without_its_database_says_so() -> None:
    host = begun()
    host.state.db = None
    assert host.perform("sell_one", {}).value["error_type"] == "db_not_initialized"
